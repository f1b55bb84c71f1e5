import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { type AutomationTemplate, parseAutomationTemplate } from './automation-template.js';

const FILE = /^(?<name>[a-z]+(?:-[a-z]+)*)\.json$/;

/** The names of the templates that there are: `templates/automations/<name>.json`. */
export function automationTemplateNames(): readonly string[] {
  return readdirSync(directory())
    .flatMap((file) => FILE.exec(file)?.groups?.['name'] ?? [])
    .sort();
}

/** Null when there is none of that name. */
export function loadAutomationTemplate(name: string): AutomationTemplate | null {
  if (!automationTemplateNames().includes(name)) return null;
  return parseAutomationTemplate(readFileSync(join(directory(), `${name}.json`), 'utf8'));
}

function directory(): string {
  return join(projectRoot(), 'templates/automations');
}
