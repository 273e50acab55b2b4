// Draws the lines as the server does (admin/charts.py), from points that grow while the page is open.
"use strict";

const watchCharts = (() => {
  const WIDTH = 600, HEIGHT = 120, NOTHING = "-";
  const RATES = { "per second": 1, "per minute": 60 };

  const lasting = (seconds) => {
    if (seconds < 0.9995) {
      return seconds >= 0.001 || seconds === 0 ? `${(seconds * 1000).toFixed(0)} ms` : "<1 ms";
    }
    if (seconds < 10) {
      return `${seconds.toFixed(1)} s`;
    }
    const [, length, unit] = [[120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"], [Infinity, 86400, "d"]].find(([most]) => seconds < most);
    return `${(seconds / length).toFixed(0)} ${unit}`;
  };

  const written = (value, unit) => {
    if (value === null) {
      return NOTHING;
    }
    if (unit === "seconds") {
      return lasting(value);
    }
    if (value >= 10_000_000) {
      return `${(value / 1_000_000).toFixed(1)} M`;
    }
    return value >= 10 || Number.isInteger(value) ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(3)));
  };

  const ceiling = (most) => {
    if (most <= 0) {
      return 1;
    }
    const size = 10 ** Math.floor(Math.log10(most));
    return size * [1, 2, 5, 10].find((factor) => size * factor >= most);
  };

  const path = (column, top) => {
    const across = WIDTH / Math.max(column.length - 1, 1);
    let isDown = false;
    return column.map((value, place) => {
      if (value === null) {
        isDown = false;
        return "";
      }
      const at = `${(place * across).toFixed(1)} ${(HEIGHT - (value / top) * HEIGHT).toFixed(1)}`;
      const part = isDown ? `L${at}` : `M${at}h0`;
      isDown = true;
      return part;
    }).join("");
  };

  const told = (line, column, unit) => {
    const there = column.filter((value) => value !== null);
    if (!there.length) {
      return `${line.title} not measured`;
    }
    const [now, lowest, highest] = [there.at(-1), Math.min(...there), Math.max(...there)].map((value) => written(value, unit));
    return `${line.title} now ${now}, lowest ${lowest}, highest ${highest}`;
  };

  const isOpen = (plan, numbers) => Boolean(RATES[plan.unit]) && numbers.span.end > numbers.at;

  const nothing = (plan, numbers) => {
    const isBegun = numbers.points.at.at(-1) === numbers.span.end - numbers.span.step;
    return isBegun && isOpen(plan, numbers) ? "The first step of this picture is not over yet." : "Nothing was measured in this time.";
  };

  // Every step of the span, those without a point too.
  const column = (plan, line, numbers) => {
    const { start, end, step } = numbers.span;
    const factor = RATES[plan.unit] ? RATES[plan.unit] / step : 1;
    const steps = Array.from({ length: Math.round((end - start) / step) }, () => null);
    numbers.points.at.forEach((at, place) => {
      const value = numbers.points[line.key][place];
      const index = (at - start) / step;
      if (index in steps && value !== null) {
        steps[index] = value * factor;
      }
    });
    // A step that has just begun would look like a fall.
    if (isOpen(plan, numbers) && steps.length) {
      steps[steps.length - 1] = null;
    }
    return steps;
  };

  const draw = (chart, plan, numbers) => {
    const columns = plan.lines.map((line) => column(plan, line, numbers));
    const there = columns.flat().filter((value) => value !== null);
    const top = ceiling(Math.max(plan.least, ...there));
    plan.lines.forEach((line, place) => chart.querySelector(`[data-line="${line.key}"]`).setAttribute("d", path(columns[place], top)));
    chart.querySelector("[data-top]").textContent = written(top, plan.unit);
    chart.querySelector("[data-half]").textContent = written(top / 2, plan.unit);
    const empty = chart.querySelector("[data-nothing]");
    empty.hidden = there.length > 0;
    empty.textContent = nothing(plan, numbers);
    const words = plan.lines.map((line, place) => told(line, columns[place], plan.unit)).join("; ");
    chart.querySelector("[role=img]").setAttribute("aria-label", `${plan.title}, ${plan.unit}: ${words}.`);
    return columns;
  };

  // The numbers beside the names of the lines: the latest, or those of the step that is pointed at.
  const legend = (chart, plan, columns, place) => {
    plan.lines.forEach((line, index) => {
      const values = columns[index];
      const value = place === null ? values.findLast((one) => one !== null) ?? null : values[place] ?? null;
      chart.querySelector(`[data-latest="${line.key}"]`).textContent = written(value, plan.unit);
    });
  };

  const cross = (chart, columns, place) => {
    const x = place === null ? "" : ((place * WIDTH) / Math.max(columns[0].length - 1, 1)).toFixed(1);
    chart.querySelector("[data-cross]").setAttribute("d", x && `M${x} 0V${HEIGHT}`);
  };

  return { cross, draw, legend };
})();
