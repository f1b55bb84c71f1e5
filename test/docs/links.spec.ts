import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const ROOT = projectRoot();
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
/** npm's own commands for scripts of these names. */
const NPM_SHORTCUTS = ['start', 'test'];

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '');
}

/** The anchors that GitHub gives to a page's headings. */
function anchorsOf(page: string): string[] {
  const headings = read(page)
    .replace(/^```.*?^```/gms, '')
    .matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function relativeLinks(page: string): string[] {
  const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((target) => !/^[a-z]+:/.test(target));
}

/** Null when the link leads somewhere. */
function faultOf(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return `${page}: ${link} leads to no file`;
  if (anchor === undefined || anchorsOf(target).includes(anchor)) return null;
  return `${page}: ${link} leads to no heading`;
}

/** Paths of the project that stand in backticks; patterns and placeholders are no paths. */
function namedPaths(page: string): string[] {
  const code = [...read(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return code.filter((text) => /^(?:apps|libs|migrations|test|docs|\.ci)\/[\w./-]*$/.test(text));
}

describe('the documentation leads nowhere that is not there', () => {
  it('has pages with links', () => {
    expect(PAGES.flatMap(relativeLinks).length).toBeGreaterThan(10);
  });

  it.each(PAGES)('%s links to files and headings that exist', (page) => {
    expect(relativeLinks(page).flatMap((link) => faultOf(page, link) ?? [])).toEqual([]);
  });

  it.each(PAGES)('%s names files and folders that exist', (page) => {
    expect(namedPaths(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each([...PAGES, '.ci/run', 'Dockerfile', 'docker-compose.yml'])('%s runs scripts that exist', (page) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const long = [...read(page).matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
    const short = NPM_SHORTCUTS.filter((name) => read(page).includes(`npm ${name}`));
    expect([...long, ...short].filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
