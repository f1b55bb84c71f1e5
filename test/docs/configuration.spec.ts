import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, environmentVariables, loadConfig } from '#platform';
import { projectRoot } from '../../libs/platform/src/project-root.js';

interface Variable {
  readonly name: string;
  readonly description: string;
  /** Null where there is none. */
  readonly byDefault: string | null;
  readonly required: boolean;
}

const VARIABLES: readonly Variable[] = Object.entries(environmentVariables.shape).map(([name, schema]) => {
  const unset = schema.safeParse(undefined);
  return {
    name,
    description: schema.meta()?.description ?? '',
    byDefault: unset.success && unset.data !== undefined ? String(unset.data) : null,
    required: !unset.success,
  };
});

function read(file: string): string {
  return readFileSync(join(projectRoot(), file), 'utf8');
}

/** The part of docs/configuration.md from `begin` to `end`, both exclusive. */
function between(text: string, begin: string, end: string): string {
  const [, after = ''] = text.split(begin);
  return after.split(end)[0] ?? '';
}

function tableRow({ name, description, byDefault, required }: Variable): string {
  const shown = required ? '*required*' : byDefault === null ? '–' : `\`${byDefault}\``;
  return `| \`${name}\` | ${shown} | ${description.replaceAll('|', '\\|')} |`;
}

function exampleLines({ name, description, byDefault }: Variable): string {
  return `# ${description}\n#${name}=${byDefault ?? ''}`;
}

describe('the configuration is documented as it is', () => {
  it('with a description of every variable', () => {
    expect(VARIABLES.filter(({ description }) => description === '')).toEqual([]);
  });

  it('in docs/configuration.md, row by row', () => {
    const table = between(
      read('docs/configuration.md'),
      '| Variable | Default | Description |\n| --- | --- | --- |\n',
      '\n\n',
    );
    expect(table.split('\n')).toEqual(VARIABLES.map(tableRow));
  });

  it('in .env.example, variable by variable', () => {
    const [, ...blocks] = read('.env.example').trimEnd().split('\n\n');
    expect(blocks).toEqual(VARIABLES.map(exampleLines));
  });

  it('with what production insists on', () => {
    const section = between(read('docs/configuration.md'), '## Production\n', '\n## ');
    const documented = [...section.matchAll(/^- `([A-Z_]+)`/gm)].map(([, name]) => name);
    expect(documented).toEqual(neededInProduction());
  });
});

/** The variables that a process which has nothing but NODE_ENV=production complains of. */
function neededInProduction(): string[] {
  try {
    loadConfig({ NODE_ENV: 'production' });
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.problems.map((problem) => problem.split(' ')[0] ?? '');
    throw error;
  }
  return [];
}
