import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import mjml2html from 'mjml';
import { compileContent } from '../../libs/messaging/src/content/document/content-compiler.js';
import { footerOf } from '../../libs/messaging/src/content/processes/content-processes.service.js';
import { Wording } from '../../libs/wording/src/index.js';
import { Browser, type Shot } from '#testing/servers/browser';
import { describeWith, executableOf } from './parts.js';

/** Every component of `@react-email/components` 1.0.12, as `@react-email/render` writes it. */
const REACT_EMAIL = join(import.meta.dirname, '../../../test/real/support/pages');

/** Components of MJML whose look depends on style sheets: columns and a menu. */
const MJML = `<mjml><mj-head><mj-style>.red a { color: #aa0000 } @media (max-width:480px) { .red { font-size: 30px } }
  @media (prefers-color-scheme: dark) { .red { background: #222222; color: #ffffff } }</mj-style></mj-head><mj-body background-color="#eeeeee">
<mj-section><mj-column><mj-navbar hamburger="hamburger"><mj-navbar-link href="https://a.example">One</mj-navbar-link>
<mj-navbar-link href="https://b.example">Two</mj-navbar-link></mj-navbar></mj-column></mj-section>
<mj-section css-class="red"><mj-group><mj-column><mj-text>Left <a href="https://a.example">link</a></mj-text></mj-column>
<mj-column><mj-text>Right</mj-text></mj-column></mj-group></mj-section>
<mj-section><mj-column><mj-button href="https://a.example">Press</mj-button><mj-table><tr><td>1</td><td>2</td></tr></mj-table></mj-column></mj-section>
</mj-body></mjml>`;

/** Made by hand: a button that Outlook draws by VML, sheets under conditions with and without `!important`, states of links. */
const BY_HAND = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>By hand</title><style>
body, .page { margin: 0; background: #f6f6f6; color: #222222; font: 16px/1.5 Arial, sans-serif }
.box { width: 600px; padding: 10px 20px; border: 1px solid #cccccc; margin: 0 auto; background: #ffffff }
td.half { width: 300px; vertical-align: top } .box p { margin: 0 0 12px } .box p.note { font-size: 12px; color: #666666 }
a { color: #0b57d0 } a:hover { color: #aa0000 } .button { background: #0b57d0 !important; color: #ffffff; padding: 12px }
@media only screen and (max-width: 480px) { .box { width: 100% !important; padding: 5px } td.half { display: block; width: auto } .hide { display: none } }
@media (prefers-color-scheme: dark) { body, .page { background: #111111 } .box { background: #222222; color: #eeeeee; border-color: #444444 } a { color: #8ab4f8 } }
@supports (display: grid) { .box p.note { letter-spacing: 1px } }
</style></head><body class="page"><table class="box" role="presentation"><tr><td class="half"><p>Left</p><p class="note">Note</p></td>
<td class="half"><p>Right <a href="https://a.example">link</a></p><p class="hide">Wide screens alone</p></td></tr><tr><td colspan="2">
<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://a.example" style="height:40px;width:200px;" arcsize="10%" fillcolor="#0b57d0"><w:anchorlock/><center>Go</center></v:roundrect><![endif]-->
<!--[if !mso]><!--><a class="button" href="https://a.example" style="display:inline-block">Go</a><!--<![endif]--></td></tr></table></body></html>`;

/** Content that only Outlook reads, and the marks around content for all others. */
const CONDITIONAL_COMMENT = /<!--\[if [^\]]*\]>(?:<!-->|[^]*?<!\[endif\]-->)|<!--<!\[endif\]-->/gi;

/** The share of pixels of two screenshots that differ, told by the browser itself. */
const DIFFERENCE = `async (one, other) => {
  const pixelsOf = async (png) => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    return { width: image.width, height: image.height, data: context.getImageData(0, 0, image.width, image.height).data };
  };
  const [a, b] = await Promise.all([one, other].map(pixelsOf));
  const rows = Math.min(a.height, b.height);
  let differ = Math.abs(a.height - b.height) * a.width;
  for (let at = 0; at < rows * a.width * 4; at += 4)
    if (a.data[at] !== b.data[at] || a.data[at + 1] !== b.data[at + 1] || a.data[at + 2] !== b.data[at + 2]) differ += 1;
  return differ / (a.width * Math.max(a.height, b.height));
}`;

describeWith(['chromium'], 'a whole page of HTML', () => {
  let browser: Browser;
  const pages = new Map<string, string>();

  beforeAll(async () => {
    for (const file of readdirSync(REACT_EMAIL))
      pages.set(file, readFileSync(join(REACT_EMAIL, file), 'utf8'));
    pages.set(
      'mjml',
      (
        await mjml2html(MJML, {
          fonts: {},
          validationLevel: 'skip',
          keepComments: false,
          ignoreIncludes: true,
        })
      ).html,
    );
    pages.set('by hand', BY_HAND);
    browser = await Browser.start(executableOf('chromium'));
  });
  afterAll(() => browser?.stop());

  async function compiled(html: string): Promise<string> {
    const footer = {
      ...footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en')),
      isEmpty: true,
    };
    const mail = await compileContent({
      subject: 'Hello',
      previewText: null,
      contentText: null,
      document: { html },
      footer,
    });
    expect(mail.removed).toEqual([]);
    return mail.html;
  }
  async function shot(html: string, look: Shot): Promise<string> {
    // Nothing comes from elsewhere: a font would arrive in time for one of the two.
    await browser.show(html.replaceAll('https://', 'data:,//'));
    return (await browser.shoot(look)).toString('base64');
  }

  it.each([
    'react-email-everything.html',
    'react-email-code.html',
    'react-email-tailwind.html',
    'mjml',
    'by hand',
  ])(
    'looks as it was written, on phones and desks, in light and in dark: %s',
    async (name) => {
      const written = pages.get(name)!;
      const mail = await compiled(written);
      const differences: Record<string, number> = {};
      for (const scheme of ['light', 'dark'] as const)
        for (const width of [375, 700]) {
          const shots = [await shot(written, { width, scheme }), await shot(mail, { width, scheme })];
          await browser.show('');
          differences[`${scheme} at ${width}`] = await browser.run<number>(
            `(${DIFFERENCE})(${shots.map((png) => JSON.stringify(png)).join()})`,
          );
        }
      expect(Object.entries(differences).filter(([, share]) => share > 0.001)).toEqual([]);
    },
    120_000,
  );

  it('keeps each comment to Outlook byte for byte', async () => {
    for (const written of pages.values())
      expect((await compiled(written)).match(CONDITIONAL_COMMENT) ?? []).toEqual(
        written.match(CONDITIONAL_COMMENT) ?? [],
      );
  });

  it('would look otherwise if attributes outdid rules under conditions', async () => {
    const worse = BY_HAND.replace('class="box"', 'class="box" style="width: 600px; padding: 10px 20px"');
    const look = { width: 375, scheme: 'light' } as const;
    const shots = [await shot(BY_HAND, look), await shot(worse, look)];
    await browser.show('');
    const share = await browser.run<number>(
      `(${DIFFERENCE})(${shots.map((png) => JSON.stringify(png)).join()})`,
    );
    expect(share).toBeGreaterThan(0.001);
  });
});
