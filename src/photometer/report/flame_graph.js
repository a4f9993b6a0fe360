// What a flame graph does when it is clicked, searched and pointed at. It reads the frames that are already drawn;
// without it the picture is still complete. Names come from <title> and go back as text, never as markup.
(function () {
  "use strict";
  const svg = document.documentElement;
  const LEFT = Number(svg.dataset.left), NARROWEST = 320;
  let WIDTH = Number(svg.dataset.inner);
  const LETTER = 7.25, PADDING = 3, NARROWEST_LABEL = 24;
  const frames = Array.from(svg.querySelectorAll("g.frame")).map(function (g) {
    const text = g.querySelector("title").textContent;
    return {
      g: g, rect: g.querySelector("rect"), label: g.querySelector("text"), tip: text,
      name: text.split("\n")[0],
      left: Number(g.dataset.x), width: Number(g.dataset.w), depth: Number(g.dataset.d),
    };
  });
  const details = svg.getElementById("details"), matched = svg.getElementById("matched");
  const reset = svg.getElementById("reset"), search = svg.getElementById("search");
  const SLACK = 1e-9;

  function fit(frame, pixels) {
    const letters = Math.floor((pixels - 2 * PADDING) / LETTER);
    if (pixels < NARROWEST_LABEL || letters < 3) return "";
    return frame.name.length <= letters ? frame.name : frame.name.slice(0, letters - 1) + "…";
  }

  let focused = null;

  // As wide as the window, whatever the file says: the file's width is for pictures.
  function useWindow() {
    const whole = Math.max(window.innerWidth, NARROWEST), height = svg.viewBox.baseVal.height;
    WIDTH = whole - 2 * LEFT;
    svg.setAttribute("width", whole);
    svg.setAttribute("viewBox", "0 0 " + whole + " " + height);
    search.setAttribute("x", whole - LEFT);
    matched.setAttribute("x", whole - LEFT - 110);
    show(focused || frames[0]);
  }

  function show(focus) {
    focused = focus;
    for (const frame of frames) {
      const above = frame.depth < focus.depth && frame.left <= focus.left + SLACK &&
        frame.left + frame.width >= focus.left + focus.width - SLACK;
      const inside = frame.depth >= focus.depth && frame.left >= focus.left - SLACK &&
        frame.left + frame.width <= focus.left + focus.width + SLACK;
      frame.g.style.display = above || inside ? "" : "none";
      if (!above && !inside) continue;
      const x = above ? LEFT : LEFT + (frame.left - focus.left) / focus.width * WIDTH;
      const pixels = above ? WIDTH : frame.width / focus.width * WIDTH;
      frame.rect.setAttribute("x", x.toFixed(2));
      frame.rect.setAttribute("width", Math.max(pixels - 0.4, 0.1).toFixed(2));
      frame.label.setAttribute("x", (x + PADDING).toFixed(2));
      frame.label.textContent = fit(frame, pixels);
      frame.g.classList.toggle("above", above);
    }
    reset.style.display = focus === frames[0] ? "none" : "";
  }

  function find(words) {
    let test = null;
    if (words) {
      try { const pattern = new RegExp(words, "i"); test = function (name) { return pattern.test(name); }; }
      catch (error) { const plain = words.toLowerCase(); test = function (name) { return name.toLowerCase().includes(plain); }; }
    }
    // A frame below another that matches is part of it and counts once.
    const spans = [];
    for (const frame of frames) {
      const hit = test !== null && test(frame.name);
      frame.g.classList.toggle("hit", hit);
      if (hit && !spans.some(function (s) { return frame.left >= s[0] - SLACK && frame.left + frame.width <= s[1] + SLACK; }))
        spans.push([frame.left, frame.left + frame.width]);
    }
    const share = spans.reduce(function (sum, s) { return sum + s[1] - s[0]; }, 0);
    matched.textContent = test === null ? "" : "matched: " + (100 * share).toFixed(1) + " %";
    search.textContent = test === null ? "search" : "clear search";
  }

  let searching = false;
  function toggleSearch() {
    const words = searching ? "" : window.prompt("Frames whose name contains (a regular expression):", "");
    searching = Boolean(words);
    find(words);
  }

  for (const frame of frames) {
    frame.g.addEventListener("click", function () { show(frame); });
    frame.g.addEventListener("mouseenter", function () { details.textContent = frame.tip.replace(/\n/g, "   "); });
    frame.g.addEventListener("mouseleave", function () { details.textContent = ""; });
  }
  reset.addEventListener("click", function () { show(frames[0]); });
  search.addEventListener("click", toggleSearch);
  window.addEventListener("keydown", function (event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") { event.preventDefault(); toggleSearch(); }
    if (event.key === "Escape") { searching = false; find(""); show(frames[0]); }
  });
  svg.flame = { show: show, find: find, frames: frames };
  window.addEventListener("resize", useWindow);
  useWindow();
  svg.dataset.ready = "";
})();
