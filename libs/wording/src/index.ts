export {
  catalogueOf as defaultTexts,
  type ShippedLocale,
  type WordingKey,
  wordingKeys,
} from './catalogue.js';
export { messageFaults } from './message-faults.js';
export { datesOf, Wording, type WordingOverrides } from './wording.js';
