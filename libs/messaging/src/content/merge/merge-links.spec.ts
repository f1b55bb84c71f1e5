import { describe, expect, it } from '@jest/globals';
import { compileMergeTemplate } from './merge-template.js';

const render = (source: string, custom: Record<string, unknown> = {}): string =>
  compileMergeTemplate(source, 'html').render({
    subscriber: {
      email: 'ann@mail.example',
      external_id: null,
      first_name: 'Ann',
      last_name: null,
      phone: null,
      locale: null,
      time_zone: null,
    },
    custom: { vip: true, ...custom },
    topic: { name: 'News', key: 'APIT-1' },
    campaign: { name: 'Spring', key: 'APIC-1' },
    project: { name: 'Shop', postal_address: 'Street 1, 10115 Berlin' },
    links: {
      unsubscribe: 'https://mail.example/u/tok?a=1&b=2',
      preferences: 'https://mail.example/p/tok',
      view: 'https://mail.example/v/tok',
    },
  });

describe('links in HTML templates', () => {
  it('carry the project’s own links unchanged but for HTML escaping', () => {
    expect(render('<a href="{{ links.unsubscribe }}">x</a>')).toBe(
      '<a href="https://mail.example/u/tok?a=1&amp;b=2">x</a>',
    );
  });

  it.each([
    'javascript:alert(1)',
    ' \tJaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    '//evil.example',
    '/relative',
    '',
    'https:evil',
  ])('become # when a value begins them with %j', (url) => {
    for (const source of [
      '<a href="{{ custom.url }}">x</a>',
      "<a class='b' href = '{{ custom.url }}'>x</a>",
      '<a title="{{ subscriber.email }}" href="{{ custom.url }}">x</a>',
      '<img alt="" src="{{ custom.url }}">',
      '<a href="{% if custom.vip %}{{ custom.url }}{% endif %}">x</a>',
      '{% for i in (1..1) %}<a href="{{ custom.url | strip }}">x</a>{% endfor %}',
      '{% assign links = custom %}<a href="{{ links.url }}">x</a>',
    ]) {
      expect(render(source, { url })).toMatch(/(?:href|src)\s*=\s*["']#["']/);
    }
  });

  it('stay when a value begins them with an http, https, mailto or tel URL', () => {
    for (const url of ['https://a.example/?x=1', 'http://a.example', 'mailto:a@b.example', 'tel:+4930123']) {
      expect(render('<a href="{{ custom.url }}">x</a>', { url })).toBe(`<a href="${url}">x</a>`);
    }
  });

  it('cannot be pieced together from two values, the first of them empty', () => {
    expect(render('<a href="{{ custom.a }}{{ custom.b }}">', { a: '', b: 'javascript:x' })).toBe(
      '<a href="#javascript:x">',
    );
  });

  it('leave a value inside a URL, in another attribute and in text alone', () => {
    const source =
      '<a href="https://a.example/?q={{ custom.x }}" title="{{ custom.x }}">{{ custom.x }}</a> href="{{ custom.x }}';
    expect(render(source, { x: 'v' })).toBe('<a href="https://a.example/?q=v" title="v">v</a> href="v');
  });
});
