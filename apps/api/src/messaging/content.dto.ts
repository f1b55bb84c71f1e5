import { z } from 'zod';
import { jsonText, requiredLine } from '../fields.js';

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

/** Content of a template, in place of content that is given. */
export const templateForm = {
  templateKey: requiredLine(100).nullish().meta({
    description:
      'Key or alias of a template of kind CAMPAIGN that the content is from, in place of `contentJson` and the like.',
    example: 'APIT-1',
  }),
  templateVersion: z
    .int()
    .min(1)
    .nullish()
    .meta({ description: 'A version of the template that was published. Default: the one in use.' }),
};

/** Check of a body: with a template it has no content of its own. */
export function hasOneSource(
  given: GivenForms & {
    readonly contentText?: string | null | undefined;
    readonly templateKey?: string | null | undefined;
  },
  context: z.core.$RefinementCtx,
): void {
  if (given.templateKey == null) return;
  for (const form of ['contentJson', 'html', 'mjml', 'contentText'] as const)
    if (given[form] != null)
      context.addIssue({
        code: 'custom',
        path: [form],
        message: 'must not be given together with templateKey',
        input: given,
      });
}

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
