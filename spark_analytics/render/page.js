// Draws the pictures in the colours that the reader has chosen, and again when that changes.
const specs = JSON.parse(document.getElementById("specs").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const config = () => {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft"), line = style.getPropertyValue("--line");
  return {
    background: "transparent",
    view: { stroke: line },
    font: "system-ui, sans-serif",
    axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal" },
    legend: { labelColor: ink, titleColor: soft },
  };
};
const drawAll = () => {
  for (const [name, spec] of Object.entries(specs)) {
    // "ast": expressions are read, not compiled, so that the page needs no eval.
    vegaEmbed(document.getElementById("chart-" + name), spec, {
      actions: false, ast: true, config: config(), renderer: "svg",
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
  }
};
drawAll();
dark.addEventListener("change", drawAll);
