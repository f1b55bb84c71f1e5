import { describe, expect, it } from '@jest/globals';
import { assert, codePoint, integer, property, string } from '#testing/random/properties';
import { Wording } from '#wording';
import { sampleReport } from '../../../../bench/support/sample-report.js';
import { renderMarkdown } from '../docs/markdown.js';
import { styleElement } from './page-layout.js';
import { expiredLinkPage } from './public-page.js';
import { reportPage } from './report.controller.js';

const sender = { name: 'Alpine Supplies', postalAddress: 'Marktgasse 12', logoUrl: null, color: null };
const view = { wording: new Wording('en'), locale: 'en', sender };
const markupOf = (overview = sampleReport) =>
  reportPage(view, overview)
    .html.toString()
    .replaceAll(/<style>.*?<\/style>/gs, '')
    .replaceAll(/\s+/g, ' ');
const textOf = (overview = sampleReport) =>
  markupOf(overview)
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('The page of a report', () => {
  it('shows the funnel, the links, the providers and what was written', () => {
    const text = textOf();
    for (const part of [
      'Delivered 12,252 98.8% of sent',
      'Opened 5,146 42% of delivered',
      'Clicked 1,372 11.2% of delivered',
      ' shop.example/spring 812 59.2%',
      'gmail.com 6,204 6,190 99.8% 14 0.23%',
      'All others 1,645',
      'Rank 1 of 9.',
      'Written by builtin/analyst-1 on 3 Mar 2026, 11:20 UTC.',
    ]) {
      expect(text).toContain(part);
    }
  });

  it.each([
    ['Spring is here, {{ subscriber.first_name | default: "friend" }}!', 'Spring is here, friend!'],
    ["{{custom.plan|default:'Free'}} news", 'Free news'],
    ['For {{ subscriber.first_name }} only', 'For … only'],
    ['{% if custom.vip %}A gift {% endif %}for you', 'A gift for you'],
    ['Save 20 % {now}', 'Save 20 % {now}'],
  ])('tells the subject %j without its tags', (subject, shown) => {
    expect(textOf({ ...sampleReport, subject })).toContain(` ${shown} `);
  });

  it('says no most of what nobody did', () => {
    const points = sampleReport.timeline.points.map((point) => ({ ...point, opened: 0, clicked: 0 }));
    const text = textOf({ ...sampleReport, timeline: { ...sampleReport.timeline, points } });
    expect(text.match(/most in one \w+: [\d,]+/g)).toHaveLength(1);
    expect(text).toContain('Opened: none. Clicked: none.');
  });

  it('has scales that end with a round number above the most, and names their middle', () => {
    const scaleOf = (most: number) => {
      const points = [{ ...sampleReport.timeline.points[0]!, sent: most }];
      const markup = markupOf({ ...sampleReport, timeline: { ...sampleReport.timeline, points } });
      const [, scale = ''] = /class="scale"[^>]*>(.*?)<\/p>/.exec(markup) ?? [];
      return scale
        .replaceAll(/<[^>]*>/g, ' ')
        .trim()
        .split(/\s+/);
    };
    expect(scaleOf(9_210)).toEqual(['10,000', '5,000', '0']);
    expect(scaleOf(1_148)).toEqual(['1,200', '600', '0']);
    expect(scaleOf(1)).toEqual(['2', '1', '0']);
    expect(scaleOf(0)).toEqual(['2', '1', '0']);
    assert(
      property(integer({ min: 1, max: 10_000_000 }), (most) => {
        const [top = 0, middle = 0] = scaleOf(most).map((text) => Number(text.replaceAll(',', '')));
        expect([top >= most, top <= Math.max(2, most * 2), middle * 2]).toEqual([true, true, top]);
      }),
      { numRuns: 50 },
    );
  });

  it('draws few points as slim bars and many as a line', () => {
    const few = (count: number) => {
      const points = sampleReport.timeline.points.slice(0, count);
      return markupOf({ ...sampleReport, timeline: { ...sampleReport.timeline, points } });
    };
    const widths = [...few(1).matchAll(/<rect class="column \w+"[^>]* width="([\d.]+)"/g)].map(
      ([, width]) => width,
    );
    expect(widths).toEqual(['25', '12.5', '12.5']);
    expect(few(1)).not.toContain('class="line');
    expect(few(1).match(/<p class="span"[^>]*>\s*<span>3 Mar, 09:00<\/span>\s*<\/p>/g)).toHaveLength(2);
    expect(few(24).match(/<rect class="column/g)).toHaveLength(72);
    expect(few(25)).not.toContain('<rect class="column');
  });

  it('tells the languages of a campaign with translations by their names', () => {
    const figures = { sent: 200, delivered: 190, bounced: 10, opened: 95, clicked: 19 };
    const languages = [
      { ...figures, locale: null },
      { ...figures, locale: 'pt-BR' },
    ];
    const text = textOf({ ...sampleReport, languages });
    expect(text).toContain('All other readers 200 190 95% 10 5% 95 50% 19 10%');
    expect(text).toContain('Brazilian Portuguese 200');
    expect(textOf()).not.toContain('By language');
  });

  it('says that links and providers are being counted, before they were', () => {
    const text = textOf({ ...sampleReport, isBrokenDown: false, links: [], providers: [] });
    expect(text).toContain('Links and providers are being counted.');
    expect(text).not.toContain('Most followed links');
    expect(textOf()).not.toContain('are being counted');
  });

  it('says of when links and providers are, where something happened since', () => {
    expect(textOf()).not.toContain('Links and providers as of');
    const brokenDownAt = new Date('2026-03-06T08:01:00.000Z');
    expect(textOf({ ...sampleReport, brokenDownAt })).toContain(
      'Links and providers as of 6 Mar 2026, 08:01 UTC.',
    );
  });

  it('can be followed by ear: one main heading, sections in order, headed tables, described charts', () => {
    const markup = markupOf();
    expect(markup.match(/<h1>/g)).toHaveLength(1);
    expect([...markup.matchAll(/<h2 id="(\w+)"/g)].map(([, id]) => id)).toEqual([
      'funnel',
      'timeline',
      'links',
      'providers',
      'report',
    ]);
    expect(markup.match(/<svg[^>]*role="img"[^>]*aria-labelledby=/g)).toHaveLength(2);
    expect(markup).toMatch(/<desc id="chart-reaction-desc">\s*Opened: [\d,]+ in all/);
    const headless = [...markup.matchAll(/<table.*?<\/table>/g)].filter(
      ([table]) => !table.includes('scope="col"') || !table.includes('scope="row"'),
    );
    expect(headless).toEqual([]);
  });

  it('needs no script, fetches nothing and follows no link', () => {
    expect(markupOf().replaceAll(/ href="\?lang=[\w-]+"/g, '')).not.toMatch(
      /<script|<link|<img|<iframe| src=| href=| style=| on\w+=/,
    );
  });

  it('leaves out what was not tracked', () => {
    const text = textOf({ ...sampleReport, isTracked: false });
    expect(text).toContain('Opens and clicks were not tracked.');
    expect(text).not.toMatch(/Clicked|Most followed links/);
  });

  it('is printed without what only a screen can use', () => {
    const printed = /@media print \{[\s\S]*$/.exec(styleElement.toString())?.[0] ?? '';
    expect(printed).toMatch(/\.unprinted \{\s*display: none/);
    expect(markupOf()).toContain('<details class="unprinted">');
  });

  it('says of an expired link that it has expired', () => {
    expect(expiredLinkPage(view).status).toBe(410);
    expect(expiredLinkPage(view).html.toString()).toContain('This link has expired');
  });

  it('shows names, subjects and addresses as text, whatever they contain', () => {
    const evil = '"><img src=x onerror=alert(1)><script>';
    const [link] = sampleReport.links;
    const [provider] = sampleReport.providers;
    const markup = markupOf({
      ...sampleReport,
      name: evil,
      subject: evil,
      links: [{ ...link!, url: evil }],
      providers: [{ ...provider!, domain: evil }],
      report: { ...sampleReport.report!, content: evil, aiModelId: evil },
    });
    expect(markup).not.toMatch(/<img|<script/);
  });
});

describe('The Markdown of a report', () => {
  const markdownHtml = (markdown: string) => renderMarkdown(markdown, () => null, { highestLevel: 2 }).html;

  it.each([
    [
      '## Summary\n\n- one\n- **two** `three`',
      '<h3 id="summary">Summary</h3><ul><li>one</li><li><strong>two</strong> <code>three</code></li></ul>',
    ],
    ['1. one\n2. two\n\ntext\ngoes on', '<ol><li>one</li><li>two</li></ol><p>text\ngoes on</p>'],
    ['a \\*b\\* and *c*, snake_case_name', '<p>a *b* and <em>c</em>, snake_case_name</p>'],
    ['[x](javascript:alert(1)) <b onclick=x>y</b>', '<p>x &lt;b onclick=x&gt;y&lt;/b&gt;</p>'],
  ])('%j becomes HTML', (markdown, expected) => {
    expect(markdownHtml(markdown).toString().replaceAll(/>\s+</g, '><').trim()).toBe(
      expected.replaceAll(/>\s+</g, '><'),
    );
  });

  const OUR_TAG =
    /^<\/?(?:h[2-6](?: id="[^"<>]*")?|ul|ol|li|p|pre(?: tabindex="0")?|code|strong|em|blockquote|br \/)>$/;

  it('holds no tag but its own, whatever is written', () => {
    assert(
      property(string({ unit: codePoint, maxLength: 200 }), (markdown) => {
        const tags =
          markdownHtml(markdown)
            .toString()
            .match(/<[^>]*>/g) ?? [];
        expect(tags.filter((tag) => !OUR_TAG.test(tag))).toEqual([]);
      }),
    );
  });
});
