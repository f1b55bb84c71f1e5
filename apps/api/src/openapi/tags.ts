/** The descriptions of the tags. */
export const TAGS: Readonly<Record<string, string>> = {
  Project: 'The project and environment of the API key.',
  Topics: 'What people subscribe to.',
  Subscribers: 'The people who get mail, one by one or by import.',
  Consents: 'Which topics a subscriber agreed to, when and how.',
  'Custom fields': 'Additional properties of subscribers.',
  Segments: 'Groups of subscribers, by list or by rules.',
  Suppressions: 'Addresses that get no mail.',
  Automations: 'Steps that subscribers go through after a trigger.',
  Campaigns: 'Mail to the subscribers of topics: write, check and send it.',
  'Campaign reports': 'The results of a campaign.',
  'Test inbox': 'The mail of the test environment.',
  'Sending domain': 'The domain of live mail, and its DNS records.',
  Relays: 'Where live mail is handed over, and the feedback of providers.',
  Billing: 'Plan, usage and invoices of the tenant.',
  'AI credits': 'The credits that pay for AI reports.',
};
