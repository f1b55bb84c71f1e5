import { type MergeTemplate, MergeTemplateError, type MergeValues } from './merge-template.js';

/** Somebody who does not exist. */
export const SAMPLE_VALUES: MergeValues = {
  subscriber: {
    email: 'ada@example.com',
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: {},
  topic: { name: 'News', key: 'NEWS-1' },
  campaign: { name: 'News', key: 'NEWS-001' },
  project: { name: 'News', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://example.com/u',
    preferences: 'https://example.com/p',
    view: 'https://example.com/v',
  },
};

/** Fills a template in once: what is wrong when its loops or filters exceed their bounds for everybody, else null. */
export function trialFault(template: MergeTemplate): string | null {
  try {
    template.render(SAMPLE_VALUES);
    return null;
  } catch (error) {
    if (error instanceof MergeTemplateError) return error.message;
    throw error;
  }
}
