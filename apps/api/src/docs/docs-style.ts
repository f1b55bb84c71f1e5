import { css } from '../html.js';

/** The navigation beside the text, or below it on a phone; on top of the style that all pages about the API share. */
export const DOCS_STYLE = css`
  .docs,
  header.top {
    max-width: 76rem;
  }
  .docs {
    margin: 0 auto;
    padding: 0 1.25rem 3rem;
  }
  .docs main {
    max-width: none;
    margin: 0;
    padding: 0;
    min-width: 0;
  }
  .docs main > p,
  .docs main li {
    max-width: 46rem;
  }
  .docs h1 {
    overflow-wrap: anywhere;
  }
  .docs h2 {
    margin-top: 2.25rem;
    border-top-width: 1px;
  }
  .docs h3 {
    margin: 1.75rem 0 0.25rem;
  }
  .docs li {
    margin: 0.35rem 0;
  }
  .docs details {
    max-width: 46rem;
  }
  .docs details > ul,
  .docs details > pre {
    margin: 0 1rem 1rem;
  }
  .docs details > ul {
    padding-left: 1rem;
  }
  .docs td {
    min-width: 7rem;
  }
  .docs td code {
    overflow-wrap: normal;
    word-break: normal;
  }
  .docs blockquote {
    margin: 1rem 0;
    padding: 0 1rem;
    border-left: 3px solid var(--line);
  }
  .pages {
    margin-top: 3rem;
    border-top: 2px solid var(--line);
    padding-top: 0.5rem;
    font-size: 0.95rem;
  }
  .pages h2 {
    border: 0;
    padding: 0;
    margin: 1.25rem 0 0.25rem;
    font-size: 0.8rem;
    text-transform: uppercase;
    letter-spacing: 0.05em;
    color: var(--quiet);
  }
  .pages a {
    display: inline-block;
    padding: 0.15rem 0;
    text-decoration: none;
  }
  .pages a:hover,
  .pages a[aria-current] {
    text-decoration: underline;
  }
  .pages a[aria-current] {
    color: inherit;
    font-weight: 600;
  }
  .cards {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr));
    gap: 0.75rem;
    padding: 0;
    list-style: none;
  }
  .docs .cards li {
    margin: 0;
    max-width: none;
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.75rem 1rem;
  }
  .cards a {
    font-weight: 600;
  }
  .cards p {
    margin: 0.15rem 0 0;
    font-size: 0.9rem;
    color: var(--quiet);
  }
  .found {
    padding: 0;
    list-style: none;
  }
  .found p {
    margin: 0.15rem 0 0;
    overflow-wrap: anywhere;
  }
  .found a {
    font-weight: 600;
  }
  @media (min-width: 60rem) {
    .top:has(~ .beside) .menu {
      display: none;
    }
    .docs.beside {
      display: grid;
      grid-template-columns: 13rem minmax(0, 1fr);
      gap: 3.5rem;
      align-items: start;
    }
    .beside main {
      grid-column: 2;
      grid-row: 1;
    }
    .beside .pages {
      grid-column: 1;
      grid-row: 1;
      margin: 0;
      border: 0;
      position: sticky;
      top: 0;
      max-height: 100vh;
      overflow-y: auto;
      padding-bottom: 1rem;
    }
  }
`;
