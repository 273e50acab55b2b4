// Keeps the dashboard up to date: asks for what is new, and puts it where the server had put it first.
"use strict";

(() => {
  const page = document.querySelector(".watch");
  const kept = JSON.parse(document.getElementById("watch-numbers").textContent);
  const every = Number(page.dataset.every) * 1000;
  const LONGEST_WAIT = 30_000;
  // For eyes and for ears. A refusal has words of its own.
  const WORDS = {
    out: ["Logged out, or no longer allowed: load the page again", "Logged out, or no longer allowed."],
    away: ["The server cannot be reached; trying again", "The server cannot be reached."],
    broken: ["The answer cannot be shown; trying again", "The answer cannot be shown."],
  };
  const drawn = new Map();
  let failures = 0;
  let timer = null;
  let isAsking = false;

  const say = (state, words) => {
    const live = page.querySelector("[data-live]");
    const place = live.querySelector("[data-live-words]");
    if (live.dataset.live !== state || place.textContent !== words) {
      live.dataset.live = state;
      place.textContent = words;
    }
  };

  const announce = (words) => {
    const place = page.querySelector("[data-announce]");
    if (place.textContent !== words) {
      place.textContent = words;
    }
  };

  const merge = (fresh) => {
    const { start } = fresh.span;
    const first = fresh.points.at[0] ?? Infinity;
    const keep = kept.points.at.map((at) => at >= start && at < first);
    for (const name of Object.keys(kept.points)) {
      kept.points[name] = [...kept.points[name].filter((_, place) => keep[place]), ...(fresh.points[name] ?? [])];
    }
    Object.assign(kept, { at: fresh.at, span: fresh.span, figures: fresh.figures });
  };

  const figures = () => {
    for (const place of page.querySelectorAll("[data-figure]")) {
      const figure = kept.figures[place.dataset.figure];
      if (figure && place.textContent !== figure.text) {
        place.textContent = figure.text;
      }
      if (figure) {
        place.dataset.value = figure.value ?? "";
        place.dataset.tone = figure.tone;
      }
    }
  };

  const charts = () => {
    for (const plan of kept.plans) {
      const chart = page.querySelector(`[data-chart="${plan.name}"]`);
      const columns = watchCharts.draw(chart, plan, kept);
      drawn.set(chart, { plan, columns });
      if (!chart.dataset.pointing) {
        watchCharts.legend(chart, plan, columns, null);
      }
      ticks(chart);
    }
  };

  const ticks = (chart) => {
    const { start, end } = kept.span;
    const places = [...chart.querySelectorAll(".watch-ticks time")];
    places.forEach((place, index) => watchTimes.write(place, new Date((start + ((end - start) * index) / (places.length - 1)) * 1000)));
  };

  const parts = (fresh) => {
    for (const [name, html] of Object.entries(fresh.parts)) {
      const place = page.querySelector(`[data-part="${name}"]`);
      if (place) {
        const made = new DOMParser().parseFromString(html, "text/html").body;
        watchTimes.localise(made);
        watchMorph.children(place, made);
      }
    }
    const count = page.querySelectorAll(".watch-notices > li").length;
    announce(count ? `${count} ${count === 1 ? "thing needs" : "things need"} a look.` : "All is well.");
  };

  const show = (fresh) => {
    merge(fresh);
    figures();
    charts();
    parts(fresh);
    watchTimes.write(page.querySelector("[data-at]"), new Date(fresh.at * 1000));
  };

  const address = () => {
    const url = new URL(page.dataset.url, location.href);
    // The last step may still grow: it is asked for again.
    const last = kept.points.at.at(-1);
    if (last) {
      url.searchParams.set("after", last);
    }
    return url;
  };

  const ask = async () => {
    const answer = await fetch(address(), { headers: { Accept: "application/json" } }).catch(() => null);
    if (answer?.status === 403) {
      return { state: "out" };
    }
    const told = await answer?.json().catch(() => null);
    if (answer?.ok && told) {
      show(told);
      return { state: "live" };
    }
    const isRefused = answer?.status >= 400 && answer?.status < 500 && told?.detail;
    return isRefused ? { state: "refused", words: [told.detail, told.detail] } : { state: "away" };
  };

  const look = async () => {
    if (isAsking) {
      return;
    }
    isAsking = true;
    let found = { state: "broken" };
    try {
      found = await ask();
    } finally {
      isAsking = false;
      after(found);
    }
  };

  const after = ({ state, words = WORDS[state] }) => {
    failures = state === "live" ? 0 : failures + 1;
    if (state === "live") {
      say("live", "Live");
    } else {
      say(state, words[0]);
      announce(words[1]);
    }
    if (state !== "out") {
      wait(Math.min(every * 2 ** failures, Math.max(every, LONGEST_WAIT)));
    }
  };

  const wait = (milliseconds) => {
    clearTimeout(timer);
    if (!document.hidden) {
      timer = setTimeout(look, milliseconds);
    }
  };

  // Nobody looks at a hidden tab: it asks for nothing, and at once when it is seen again.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      clearTimeout(timer);
      say("hidden", "Waiting until it is looked at");
    } else if (page.querySelector("[data-live]").dataset.live !== "out") {
      look();
    }
  });

  page.addEventListener("pointermove", (event) => {
    const plot = event.target.closest?.(".watch-plot");
    if (plot) {
      point(plot.closest("[data-chart]"), event.clientX);
    }
  });

  const point = (chart, x) => {
    const box = chart.querySelector(".watch-plot svg").getBoundingClientRect();
    const { plan, columns } = drawn.get(chart);
    const last = columns[0].length - 1;
    const place = Math.max(0, Math.min(last, Math.round(((x - box.left) / box.width) * last)));
    const time = chart.querySelector("[data-pointed]");
    chart.dataset.pointing = "yes";
    time.hidden = false;
    watchTimes.write(time, new Date((kept.span.start + place * kept.span.step) * 1000), "moment");
    watchCharts.legend(chart, plan, columns, place);
    watchCharts.cross(chart, columns, place);
  };

  for (const plot of page.querySelectorAll(".watch-plot")) {
    plot.addEventListener("pointerleave", () => {
      const chart = plot.closest("[data-chart]");
      const { plan, columns } = drawn.get(chart);
      delete chart.dataset.pointing;
      chart.querySelector("[data-pointed]").hidden = true;
      watchCharts.legend(chart, plan, columns, null);
      watchCharts.cross(chart, columns, null);
    });
  }

  for (const field of page.querySelectorAll(".watch-filter input[list]")) {
    field.addEventListener("change", () => {
      if (field.name === "channel" && field.form.elements.consumer) {
        field.form.elements.consumer.value = "";
      }
      field.form.requestSubmit();
    });
  }
  page.querySelector(".watch-filter").addEventListener("formdata", (event) => {
    // What is empty need not stand in the address.
    for (const [name, value] of [...event.formData]) {
      if (!value) {
        event.formData.delete(name);
      }
    }
  });

  page.querySelector("[data-zone]").textContent = watchTimes.zone(new Date());
  watchTimes.localise(page);
  charts();
  wait(every);
  say("live", "Live");
})();
