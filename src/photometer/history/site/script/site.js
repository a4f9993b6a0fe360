// Puts everything together: reads the index, follows the address, and says when a live site has something new.

const LIVE_CHECK_SECONDS = 20;
let shownView = 0;

function seriesOf(key) {
  return Math.max(site.series.findIndex((each) => each.key === key), 0);
}

function go(hash) {
  location.hash = hash;
}

async function showView() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const views = { "": overview, benchmarks: benchmarkList, benchmark: benchmarkPage, compare: comparePage };
  const view = Object.hasOwn(views, parts[0]) ? views[parts[0]] : (place) => missing(place, "There is no such page.");
  const number = (shownView += 1);
  const page = h("div", {});
  hideTip();
  for (const link of document.querySelectorAll("header nav a")) {
    const name = link.getAttribute("href").slice(2);
    if (name === parts[0] || (name === "benchmarks" && parts[0] === "benchmark")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("main").replaceChildren(page);
  window.scrollTo(0, 0);
  let shown = null;
  try {
    shown = await view(page, ...parts.slice(1));
  } catch (error) {
    page.append(h("p", { class: "problem", role: "alert" }, error.message));
  }
  // Another view may have been asked for meanwhile.
  if (number !== shownView) return;
  document.title = [shown && shown.title, site.title, "photometer"].filter(Boolean).join(" – ");
  currentSearch = shown ? shown.search : null;
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

let currentSearch = null;

function useKeys(event) {
  if (event.key === "Escape") hideTip();
  if (event.key !== "/" || event.target.closest("input,textarea,select") || !currentSearch) return;
  event.preventDefault();
  currentSearch.focus();
}

async function watchForNews() {
  setInterval(async () => {
    try {
      const state = await reload("state");
      if (state.made_at !== site.made_at && !document.querySelector(".fresh")) {
        byId("main").after(h("p", { class: "fresh", role: "status" }, "There are new results. ", h("button", { type: "button", onclick: () => location.reload() }, "Show them")));
      }
    } catch {
      // The server has stopped: what is shown stays.
    }
  }, LIVE_CHECK_SECONDS * 1000);
}

async function start() {
  document.body.append(tip);
  chooseTheme();
  try {
    site = await load("index");
    // A word that every benchmark has says nothing.
    if (site.benchmarks.length > 1) site.usual_words.push(...site.benchmarks[0].words.filter((word) => site.benchmarks.every((row) => row.words.includes(word))));
  } catch (error) {
    byId("loading").replaceChildren(error.message);
    byId("loading").className = "problem";
    return;
  }
  document.addEventListener("keydown", useKeys);
  // The part of the address behind # names the view: the link must not change it.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  window.addEventListener("hashchange", showView);
  await showView();
  if (site.is_live) watchForNews();
}

start();
