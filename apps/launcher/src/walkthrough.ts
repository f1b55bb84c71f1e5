import type { DemoFile, DemoTopics } from './demo.js';

/** A new address each time. */
const READER = 'ada+$(date +%s)@example.com';

const CONTENT = JSON.stringify({
  blocks: [
    { type: 'heading', level: 1, text: 'Hello {{ subscriber.first_name | default: "there" }}' },
    { type: 'text', html: 'The first issue of our newsletter is here.' },
    { type: 'button', label: 'Read it', url: 'https://example.com/first-issue' },
  ],
});

/**
 * Shell commands that take a subscriber from sign-up to a campaign's report in the test environment. They work in sh,
 * bash and zsh when pasted in order, any number of times, and need only curl and sed. Comments contain no quotes: an
 * interactive zsh would not treat them as comments.
 */
export function walkthrough(demo: Pick<DemoFile, 'baseUrl' | 'testKey'>, topics: DemoTopics): string {
  const campaign = {
    name: 'Walk-through',
    subject: 'Our first issue',
    previewText: 'What you asked for',
    contentJson: CONTENT,
    topicIds: ['TOPIC_ID'],
  };
  const signUp = {
    email: 'READER',
    firstName: 'Ada',
    topicKeys: [topics.doubleOptIn, topics.singleOptIn],
    consent: { source: 'walk-through' },
  };
  return `# Paste all of it, or step by step. Mail of this test key goes to the test inbox only.
API=${demo.baseUrl}/api/v1
KEY=${demo.testKey}
READER="${READER}"
inbox() { curl -sS -G "$API/test-inbox/messages" -H "X-API-Key: $KEY" --data-urlencode "to=$READER" -d "kind=$1"; }

# 1. The topics of the project: ${topics.doubleOptIn} asks for confirmation by mail, ${topics.singleOptIn} does not
curl -sS "$API/topics" -H "X-API-Key: $KEY"; echo

# 2. Someone signs up for both
${post('$API/subscribers', signUp)}; echo

# 3. The confirmation mail comes to the test inbox
${waitFor('CONFIRM', 'OPT_IN', 'confirm')}
echo "$CONFIRM"

# 4. Press the button of the page behind its link
curl -sS -o /dev/null -w "%{http_code}\\n" -X POST "$CONFIRM"

# 5. Both consents are there
curl -sS "$API/subscribers/$READER/consents" -H "X-API-Key: $KEY"; echo

# 6. A campaign to the topic
TOPIC_ID=$(curl -sS "$API/topics/${topics.doubleOptIn}" -H "X-API-Key: $KEY" | ${pick('id')})
CAMPAIGN=$(${post('$API/campaigns', campaign)} | ${pick('campaignKey')})
curl -sS -X POST "$API/campaigns/$CAMPAIGN/send" -H "X-API-Key: $KEY"; echo

# 7. What arrived
${waitFor('MESSAGE', 'CAMPAIGN', 'id')}
inbox CAMPAIGN; echo

# 8. How it went: sent and delivered, once the campaign is SENT
for second in $(seq 120); do case "$(curl -sS "$API/campaigns/$CAMPAIGN" -H "X-API-Key: $KEY")" in *'"status":"SENT"'*) break;; esac; sleep 1; done
curl -sS "$API/campaigns/$CAMPAIGN/report/statistics" -H "X-API-Key: $KEY"; echo
curl -sS "$API/campaigns/$CAMPAIGN/report/export" -H "X-API-Key: $KEY"
`;
}

/** Single-quotes the body for the shell, except for names in capitals, which are variables. */
function post(url: string, body: object): string {
  const json = JSON.stringify(body).replace(/"(READER|TOPIC_ID)"/g, `"'"$$$1"'"`);
  return `curl -sS -X POST "${url}" -H "X-API-Key: $KEY" -H "Content-Type: application/json" \\\n  -d '${json}'`;
}

function waitFor(variable: string, kind: string, link: string): string {
  return (
    `for second in $(seq 120); do ${variable}=$(inbox ${kind} | ${pick(link)}); ` +
    `[ -n "$${variable}" ] && break; sleep 1; done`
  );
}

/** Extracts the text of a JSON property from a line. */
function pick(property: string): string {
  return String.raw`sed -n 's/.*"${property}":"\([^"]*\)".*/\1/p'`;
}
