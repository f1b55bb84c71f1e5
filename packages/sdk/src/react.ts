import { render } from '@react-email/render';

/** A mail that React wrote, for the fields of a message, campaign or template. */
export interface RenderedMail {
  /** A whole page, with its head and style sheets. */
  readonly html: string;
  /** The same in words: `text` of a message, `contentText` of a campaign. */
  readonly text: string;
}

/**
 * Renders a React element, of React Email's components or others. Merge tags are strings in it: `{'{{ data.name }}'}`.
 * Rejects with what a component throws.
 */
export async function renderReact(element: Parameters<typeof render>[0]): Promise<RenderedMail> {
  const [html, text] = await Promise.all([render(element), render(element, { plainText: true })]);
  return { html, text };
}
