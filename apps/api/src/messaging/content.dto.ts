import { z } from 'zod';
import { jsonText } from '../fields.js';

const MAX_CONTENT = 500_000;
const MAX_PAGE = 512 * 1024;

/** The content of a mail in one of three forms. */
export const contentForms = {
  contentJson: jsonText(MAX_CONTENT).nullish(),
  html: jsonText(MAX_PAGE)
    .nullish()
    .meta({
      description:
        'The content as a whole page of HTML, at most 512 KB, in place of `contentJson`. Its head, style sheets and comments stay. ' +
        'In answers it is in `contentJson`, as `{"html":"…"}`.',
    }),
  mjml: jsonText(MAX_PAGE).nullish().meta({
    description:
      'The content as MJML, at most 512 KB, in place of `contentJson`. In answers it is in `contentJson`, as `{"mjml":"…"}`.',
  }),
};

interface GivenForms {
  readonly contentJson?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly mjml?: string | null | undefined;
}

/** Check of a body: at most one form is given. */
export function hasOneForm(given: GivenForms, context: z.core.$RefinementCtx): void {
  const [first, ...others] = (['contentJson', 'html', 'mjml'] as const).filter((form) => given[form] != null);
  for (const form of others)
    context.addIssue({
      code: 'custom',
      path: [form],
      message: `must not be given together with ${first}`,
      input: given,
    });
}

/** The content in the one form that is stored; null clears it, nothing leaves it. */
function contentJsonOf({ contentJson, html, mjml }: GivenForms): string | null | undefined {
  if (html != null) return JSON.stringify({ html });
  if (mjml != null) return JSON.stringify({ mjml });
  return contentJson === undefined && (html === null || mjml === null) ? null : contentJson;
}

/** A body with its content in the one form that is stored. */
export function withContentJson<Body extends GivenForms>(body: Body) {
  const { html: _html, mjml: _mjml, contentJson: _contentJson, ...rest } = body;
  const contentJson = contentJsonOf(body);
  return { ...rest, ...(contentJson !== undefined && { contentJson }) };
}
