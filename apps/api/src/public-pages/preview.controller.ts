import { Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { type ContentPreview, type MailPreview, MailViewService, TemplatePreviewsService } from '#messaging';
import type { WordingKey } from '#wording';
import { html, type Html } from '../html.js';
import { languageName, page, type Page, signs } from './page-layout.js';
import { PageLinksService } from './page-links.service.js';
import { dateText, LANGUAGE_PARAMETER, type PageView, say } from './page-view.js';
import { expiredLinkPage, PublicPage, sendMail, sendPage } from './public-page.js';

/** CSS pixels that a mail is shown in: a phone's, and a desk's. */
const WIDTHS = ['375', '700'] as const;
const SCHEMES = ['light', 'dark'] as const;

/** The choices of who looks at a mail, in the address of the page. */
interface Choices {
  readonly width: (typeof WIDTHS)[number];
  readonly scheme: (typeof SCHEMES)[number];
  /** One of the content's languages, BCP 47; null: the content in the project's language. */
  readonly locale: string | null;
  /** Number of a variant; null: the first, or none. */
  readonly variant: number | null;
  /** Language of the page; null: the browser's. */
  readonly lang: string | null;
}

/** A mail as it would look, for people who have the link: somebody who does not exist is its reader. */
export function previewPage(
  view: PageView,
  shown: ContentPreview,
  choices: Choices,
  until: Date | null,
): Page {
  const { name, mail, reader } = shown;
  return page(view, {
    heading: name,
    shown: html`<bdi>${name}</bdi>`,
    sign: signs.letter,
    wide: true,
    framesMail: true,
    body: html`<p class="quiet">${say(view, 'preview.sample', { name: html`<bdi>${reader}</bdi>` })}</p>
      ${mail === null ? null : headOf(view, mail)} ${choicesOf(view, shown, choices)}
      ${mail === null ? brokenMail(view, shown.fault) : mailOf(view, mail, choices)}
      ${until === null ? null : html`<p class="quiet">${say(view, 'optIn.until', { date: dateText(until, view.wording) })}</p>`}`,
  });
}

function headOf(view: PageView, { fromName, fromEmail, subject, previewText, language }: MailPreview): Html {
  const sender = html`<bdi>${fromName}</bdi> <span class="status"><bdi dir="ltr">${fromEmail}</bdi></span>`;
  const lines: [WordingKey, Html][] = [
    ['preview.from', sender],
    ['preview.subject', html`<bdi lang="${language}">${subject}</bdi>`],
    ...(previewText === null
      ? []
      : [['preview.previewText', html`<bdi lang="${language}">${previewText}</bdi>`] as [WordingKey, Html]]),
  ];
  return html`<dl class="facts head">
    ${lines.map(
      ([key, line]) =>
        html`<div>
          <dt>${say(view, key)}</dt>
          <dd>${line}</dd>
        </div>`,
    )}
  </dl>`;
}

function choicesOf(view: PageView, { languages, variants }: ContentPreview, choices: Choices): Html {
  const [own] = languages;
  const widths = WIDTHS.map((width) => option(`${width} px`, { ...choices, width }, width === choices.width));
  const schemes = SCHEMES.map((scheme) =>
    option(view.wording.text(`preview.${scheme}`), { ...choices, scheme }, scheme === choices.scheme),
  );
  const locales = languages.map((language) => {
    const locale = language === own ? null : language;
    return option(languageName(language), { ...choices, locale }, locale === choices.locale);
  });
  const contents = variants.map((name, index) => {
    const variant = index === 0 ? null : index + 1;
    return option(name, { ...choices, variant }, variant === choices.variant);
  });
  return html`<div class="choices unprinted">
    ${contents.length === 0 ? null : group('A/B', 'A/B', contents)} ${choice(view, 'preview.width', widths)}
    ${choice(view, 'preview.colours', schemes)}
    ${locales.length < 2 ? null : choice(view, 'report.language', locales)}
  </div>`;
}

function choice(view: PageView, name: WordingKey, options: readonly Html[]): Html {
  return group(view.wording.text(name), say(view, name), options);
}

const group = (name: string, shown: Html | string, options: readonly Html[]): Html =>
  html`<div role="group" aria-label="${name}"><span aria-hidden="true">${shown}</span>${options}</div>`;

const option = (words: string, chosen: Choices, isCurrent: boolean): Html =>
  html`<a href="${addressOf(chosen)}" rel="nofollow" ${isCurrent ? html`aria-current="true"` : null}
    ><bdi>${words}</bdi></a
  >`;

/** Query of the page, relative to it: the page does not repeat its token. */
function addressOf(
  { width, scheme, locale, variant, lang }: Choices,
  part: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    ...(lang !== null && { [LANGUAGE_PARAMETER]: lang }),
    ...(locale !== null && { locale }),
    ...(variant !== null && { variant: String(variant) }),
    width,
    scheme,
    ...part,
  });
  return `?${query.toString()}`;
}

/**
 * The mail in a frame without scripts. The frame's `color-scheme` is the one that the mail's own media queries answer to
 * (CSS Color Adjust 1 §2.2): its style sheets are not changed.
 */
function mailOf(view: PageView, { text, subject, language }: MailPreview, choices: Choices): Html {
  return html`<div class="frame" role="group" tabindex="0" aria-label="${subject}">
      <iframe
        class="mail ${choices.scheme}"
        title="${subject}"
        src="${addressOf(choices, { part: 'mail' })}"
        width="${choices.width}"
        height="680"
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerpolicy="no-referrer"
      ></iframe>
    </div>
    <p class="quiet">${say(view, 'preview.darkNote')}</p>
    <details>
      <summary>${say(view, 'preview.text')}</summary>
      <p class="plain" lang="${language}" dir="auto">${text}</p>
    </details>`;
}

function brokenMail(view: PageView, fault: string | null): Html {
  return html`<p>${say(view, 'preview.broken')}</p>
    ${fault === null ? null : html`<p class="plain" lang="en" dir="ltr">${fault}</p>`}`;
}

/** The mail of a campaign or a template, for anybody who has its link, which its author passes on for approval. */
@PublicPage('d')
export class PreviewController {
  constructor(
    private readonly links: PageLinksService,
    private readonly mails: MailViewService,
    private readonly templates: TemplatePreviewsService,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preview');
    const view = await this.links.view(request, link);
    if (link.expired) return sendPage(reply, expiredLinkPage({ ...view, sender: null }));
    const locale = typeof query['locale'] === 'string' ? query['locale'] : null;
    const shown =
      (await this.mails.sample(link.scope, link.id, { locale, variant: variantIn(query) })) ??
      (await this.templates.sample(link.scope, link.id, locale));
    if (shown === null) throw new NotFoundError();
    if (query['part'] !== 'mail') {
      const choices = choicesIn(query, shown);
      return sendPage(reply, previewPage(view, shown, choices, link.expiresAt));
    }
    if (shown.mail === null) throw new NotFoundError();
    sendMail(reply, shown.mail, { framedBy: 'self' });
  }
}

/** A number that no variant has shows the first. */
function variantIn({ variant }: Readonly<Record<string, unknown>>): number | null {
  return typeof variant === 'string' && /^[2-5]$/.test(variant) ? Number(variant) : null;
}

function choicesIn(
  query: Readonly<Record<string, unknown>>,
  { languages, variants }: ContentPreview,
): Choices {
  const variant = variantIn(query);
  const lang = query[LANGUAGE_PARAMETER];
  return {
    width: WIDTHS.find((width) => width === query['width']) ?? '375',
    scheme: SCHEMES.find((scheme) => scheme === query['scheme']) ?? 'light',
    locale: languages.slice(1).find((locale) => locale === query['locale']) ?? null,
    variant: variant !== null && variant <= variants.length ? variant : null,
    lang: typeof lang === 'string' ? lang : null,
  };
}
