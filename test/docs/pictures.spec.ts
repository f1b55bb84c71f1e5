import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'cheerio';
import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { peerChart } from '../../bench/support/peer-report.js';
import { compileSources } from '../../libs/messaging/src/content/document/content-compiler.js';
import { compileMergeTemplate } from '../../libs/messaging/src/content/merge/merge-template.js';
import { SAMPLE_VALUES } from '../../libs/messaging/src/content/merge/merge-values.js';
import { footerOf } from '../../libs/messaging/src/content/processes/content-processes.service.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const DOCS = join(projectRoot(), 'docs');
/** `contentJson` with the pictures of its mail below it: `![…](images/mail-first.svg "375 × 400")`, width and height in px. */
const SAMPLE = /^```json\n(?<json>[^`]+)```\n(?<between>(?:(?!^```|^#)[^])*?)(?=^```|^#|(?![^]))/gm;
const PICTURE = /!\[[^\]]+\]\(images\/(?<name>mail-[\w-]+)\.svg "(?<width>\d+) × (?<height>\d+)"\)/g;

interface Picture {
  readonly name: string;
  readonly json: string;
  readonly width: string;
  readonly height: string;
}

const page = readFileSync(join(DOCS, 'content.md'), 'utf8');
const pictures: Picture[] = [...page.matchAll(SAMPLE)].flatMap(({ groups }) =>
  [...(groups?.['between'] ?? '').matchAll(PICTURE)].map((picture) => ({
    ...(picture.groups as Readonly<Record<'name' | 'width' | 'height', string>>),
    json: groups?.['json'] ?? '',
  })),
);

/** The mail as HTML in a picture: its own style sheets see the width of the picture and the reader's dark mode. */
async function drawn({ json, width, height }: Picture): Promise<string> {
  const footer = footerOf(
    { senderName: 'Leaf & Co', postalAddress: '1 Tea Lane, Bristol' },
    new Wording('en'),
  );
  const content = { subject: 'Tea', previewText: null, contentJson: json, contentText: null, language: 'en' };
  const { html } = await compileSources(content, footer);
  const project = { name: 'Leaf & Co', postal_address: '1 Tea Lane, Bristol' };
  const mail = load(compileMergeTemplate(html, 'html').render({ ...SAMPLE_VALUES, project }));
  mail('*')
    .contents()
    .filter((_, node) => node.nodeType === 8)
    .remove();
  mail('html').attr('xmlns', 'http://www.w3.org/1999/xhtml');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<foreignObject width="100%" height="100%">
${load(mail('html').toArray(), { xml: true }).xml()}
</foreignObject>
</svg>
`;
}

it('the chart beside a peer has the figures of RESULTS.md (UPDATE_PICTURES=1 draws it)', () => {
  const [file, results] = ['bench/beside-listmonk.svg', 'bench/RESULTS.md'].map((name) =>
    join(projectRoot(), name),
  );
  const chart = peerChart('listmonk', 'peer', readFileSync(results!, 'utf8'));
  if (process.env['UPDATE_PICTURES'] !== undefined) writeFileSync(file!, chart);
  expect(readFileSync(file!, 'utf8')).toBe(chart);
});

describe('pictures of mails in the documentation', () => {
  it('stand below what they are made of', () => {
    expect(pictures.length).toBeGreaterThan(2);
    expect(pictures).toHaveLength(page.match(/\.svg/g)!.length);
  });

  it.each(pictures)('$name is what its sample becomes (UPDATE_PICTURES=1 draws them)', async (picture) => {
    const file = join(DOCS, 'images', `${picture.name}.svg`);
    const image = await drawn(picture);
    if (process.env['UPDATE_PICTURES'] !== undefined) writeFileSync(file, image);
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe(image);
  });
});
