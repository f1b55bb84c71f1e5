import { MergeTemplateError } from '../../content/content.errors.js';
import { compilePlainTemplate, type MergeTemplate } from '../../content/merge/merge-template.js';
import { isStructured } from '../../content/merge/merge-output.js';
import type { MergeValues } from '../../content/merge/merge-values.js';
import { type ConfigReader, isText } from './config-reader.js';

/** The change of one field of the subscriber. */
export interface UpdateFieldConfig {
  /** The field's name: see `changeableField`. */
  readonly key: string;
  /** The same for all, null to clear; undefined where each run has an own one, by the template. */
  readonly value: unknown;
  readonly template: MergeTemplate | null;
}

const MAX_KEY = 80;
/** The longest value of any field. */
const MAX_VALUE = 10_000;
const MAX_ITEMS = 1_000;
const ROOTS: ReadonlySet<string> = new Set(['subscriber', 'custom', 'event']);
const HAS_TAG = /\{[{%]/;

export function readUpdateField(config: ConfigReader): UpdateFieldConfig | null {
  const key = config.required('key', { max: MAX_KEY });
  if (!config.isGiven('value')) return config.fault('value', 'is required: null clears the field');
  const value = readValue(config);
  if (key === null || value === undefined) return null;
  if (typeof value !== 'string' || !HAS_TAG.test(value)) return { key, value, template: null };
  const template = readTemplate(value, config);
  return template === null ? null : { key, value: undefined, template };
}

/** Undefined when it has a fault. */
function readValue(config: ConfigReader): unknown {
  const value = config.value('value');
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    const text = config.text('value', { max: MAX_VALUE, oneLine: false });
    if (text?.trim() !== '') return text ?? undefined;
    config.fault('value', 'must not be empty: null clears the field');
    return undefined;
  }
  if (Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isText)) return value;
  config.fault('value', `must be text, a number, true, false, null or a list of at most ${MAX_ITEMS} texts`);
  return undefined;
}

/** Merge tags alone, without logic: they are filled in between other steps, for which there is little time. */
function readTemplate(text: string, config: ConfigReader): MergeTemplate | null {
  try {
    const template = compilePlainTemplate(text, 'none');
    if (template === null)
      return config.fault('value', 'may only have merge tags such as {{ event.total | default: 0 }}');
    const other = template.variables.find((name) => !ROOTS.has(name.split('.', 1).join()));
    if (other === undefined) return template;
    return config.fault('value', `has {{ ${other} }}, but only subscriber, custom and event are known here`);
  } catch (error) {
    if (!(error instanceof MergeTemplateError)) throw error;
    return config.fault('value', `has a merge tag that is wrong: ${error.message}`);
  }
}

const NOTHING = { name: '', key: '' };
/** Values that no field is made of. */
const OTHERS: Omit<MergeValues, 'subscriber' | 'custom' | 'event'> = {
  topic: NOTHING,
  campaign: NOTHING,
  project: { name: '', postal_address: '' },
  links: { unsubscribe: '', preferences: '', view: '' },
};

/**
 * The value of one run. A merge tag alone keeps the JSON type of what it shows. Nothing in its place is a fault, so that no field is
 * ever emptied by what an event lacks.
 */
export function valueOfRun(
  template: MergeTemplate,
  ofRun: Pick<MergeValues, 'subscriber' | 'custom' | 'event'>,
): { readonly value: unknown } | { readonly fault: string } {
  const { slots, variables } = template;
  const values = { ...OTHERS, ...ofRun };
  const shown = slots?.values(values) ?? [];
  const tag = variables.length === 1 ? `{{ ${variables[0]} }}` : 'a merge tag';
  if (shown.some((value) => value === undefined || value === null)) return { fault: `${tag} is empty` };
  const isAlone = shown.length === 1 && slots?.texts.every((text) => text.trim() === '') === true;
  if (!isAlone && shown.some(isStructured)) return { fault: `${tag} is an object, which no text shows` };
  const value = isAlone && typeof shown[0] !== 'string' ? shown[0] : template.render(values);
  return typeof value === 'string' && value.trim() === '' ? { fault: 'the value is empty' } : { value };
}
