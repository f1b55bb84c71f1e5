import { css } from '../html.js';

/** The style of the language switch, below all pages. Must follow that of other `details`. */
export const languageStyle = css`
  .languages {
    margin: 0;
  }
  .languages summary {
    display: inline-flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2.75rem;
    padding: 0 0.75rem;
    color: inherit;
    font-weight: 400;
    list-style: none;
  }
  .languages summary::-webkit-details-marker {
    display: none;
  }
  .languages svg {
    width: 1.25rem;
    height: 1.25rem;
  }
  .languages ul {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr));
    margin: 0.5rem 0 0;
    padding: 0;
    list-style: none;
  }
  .languages a {
    display: block;
    padding: 0.625rem 0.25rem;
    font-weight: 400;
  }
  .languages a[aria-current] {
    color: inherit;
    font-weight: 600;
    text-decoration: none;
  }
`;
