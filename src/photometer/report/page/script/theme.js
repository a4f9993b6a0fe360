// The button that changes between light and dark; without it, the page is as the system is.

function chooseTheme() {
  const button = byId("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches);
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  dark.addEventListener("change", name);
  name();
}
