// Ranks sections of the site by BM25, as `triptych docs` does, on the page of search results.
// `site_search_data.js` has the words of all sections, and which words are left out or stand for others.
"use strict";

const siteSearch = {
  words(text, data) {
    const stem = (word) => word.replace(new RegExp(data.endings), "");
    const whole = text.toLowerCase().match(new RegExp(data.word, "g")) || [];
    const parts = whole.filter((word) => word.includes("_")).flatMap((word) => word.split("_"));
    const kept = [...whole, ...parts].filter((word) => word.length > 1 && !data.empty.includes(word));
    return new Set(kept.map((word) => stem(data.same[word] || word)));
  },

  // The numbers of the sections that answer a question best, the best one first.
  found(question, data) {
    const count = data.sections.length;
    const mean = data.lengths.reduce((sum, length) => sum + length, 0) / count;
    const scores = new Map();
    for (const word of siteSearch.words(question, data)) {
      const places = Object.hasOwn(data.places, word) ? data.places[word] : [];
      const having = places.length / 2;
      const rarity = Math.log(1 + (count - having + 0.5) / (having + 0.5));
      for (let i = 0; i < places.length; i += 2) {
        const [section, times] = [places[i], places[i + 1]];
        const damping = data.saturation * (1 - data.length + (data.length * data.lengths[section]) / mean);
        const more = (rarity * times * (data.saturation + 1)) / (times + damping);
        scores.set(section, (scores.get(section) || 0) + more);
      }
    }
    const ranked = [...scores.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([section]) => section);
    return siteSearch.pagesFirst(ranked, data);
  },

  // The best section of each page, then the further ones.
  pagesFirst(ranked, data) {
    const pages = new Set();
    const [firsts, others] = [[], []];
    for (const section of ranked) {
      const page = data.sections[section][0].split("#")[0];
      (pages.has(page) ? others : firsts).push(section);
      pages.add(page);
    }
    return [...firsts, ...others];
  },

  // In the place of Sphinx's own results.
  show(question, data) {
    const out = document.getElementById("search-results");
    const root = document.documentElement.dataset.content_root || "./";
    out.replaceChildren();
    const best = siteSearch.found(question, data).slice(0, 20);
    const heading = document.createElement("h2");
    heading.textContent = best.length ? "Search results" : "Nothing is said of this.";
    const list = document.createElement("ul");
    list.className = "search";
    for (const number of best) {
      const [address, title, text] = data.sections[number];
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + address;
      link.textContent = title;
      const beginning = document.createElement("p");
      beginning.className = "context";
      beginning.textContent = text;
      item.append(link, beginning);
      list.append(item);
    }
    out.append(heading, list);
  },
};

if (typeof document !== "undefined") {
  document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search !== "undefined" && typeof siteSearchData !== "undefined") {
      Search.performSearch = (question) => siteSearch.show(question, siteSearchData);
    }
  });
}
