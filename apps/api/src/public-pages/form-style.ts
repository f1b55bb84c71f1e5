import { css } from '../html.js';

/** The style of pages with choices: buttons, topics and fields. */
export const formStyle = css`
  .topics {
    margin: 0 0 1.5rem;
    padding: 0;
    list-style: none;
    border-top: 1px solid var(--edge);
  }
  .topics li {
    padding: 0.625rem 0;
    border-bottom: 1px solid var(--edge);
    font-weight: 600;
    hyphens: auto;
  }
  button {
    display: block;
    width: 100%;
    min-height: 3.25rem;
    margin: 0 0 0.75rem;
    padding: 0.75rem 1.25rem;
    border: 1px solid transparent;
    border-radius: 0.75rem;
    background: var(--accent);
    color: var(--on-accent);
    font: inherit;
    font-weight: 600;
    line-height: 1.3;
    text-wrap: balance;
    cursor: pointer;
  }
  button:hover {
    text-decoration: underline;
  }
  button.second {
    background: transparent;
    border-color: var(--button-edge);
    color: var(--ink);
  }
  button.second:hover {
    background: var(--tint);
  }
  button:focus-visible {
    outline: 3px solid var(--link);
    outline-offset: 3px;
  }
  .choice {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    column-gap: 1rem;
    min-height: 2.5rem;
    margin-bottom: -0.375rem;
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    justify-content: flex-end;
    column-gap: 1.25rem;
    margin-inline-start: auto;
  }
  .actions button {
    width: auto;
    min-height: 2.5rem;
    margin: 0;
    padding: 0;
    border: 0;
    background: none;
    color: var(--link);
    font-size: 0.9375rem;
  }
  .about {
    display: block;
    font-size: 0.9375rem;
    font-weight: 400;
    white-space: pre-line;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .row button {
    flex: 1 1 4.75rem;
    width: auto;
    margin: 0;
    padding: 0.75rem 0.25rem;
    font-size: 1rem;
  }
  form > .topics:last-child li:last-child {
    border-bottom: 0;
  }
  .more + form {
    margin-top: 1.75rem;
  }
  form:has(+ .more) .topics li:last-child {
    padding-bottom: 0;
  }
  .status {
    display: block;
    color: var(--quiet);
    font-size: 0.875rem;
    font-weight: 400;
  }
  form + form {
    margin-top: 1.5rem;
  }
  form + .quiet {
    margin-top: 1.25rem;
  }
  form + .afterwards {
    margin-top: 1.5rem;
  }
  .afterwards details {
    margin: 1.25rem 0 0;
  }
  .afterwards summary {
    padding: 0.625rem 0;
  }
  .afterwards details form {
    margin-top: 0.5rem;
  }
  /* A second tap on the button of the page before must not undo what the first one did. */
  .afterwards button,
  .afterwards summary {
    animation: 1s step-end settle;
  }
  @keyframes settle {
    from {
      visibility: hidden;
    }
  }
  .more {
    margin-top: 1.75rem;
    padding-top: 1.25rem;
    border-top: 1px solid var(--edge);
  }
`;
