import type { Step } from './step.js';
import { campaignSteps } from './steps/campaign.steps.js';
import { signUpSteps } from './steps/sign-up.steps.js';
import { unsubscribeSteps } from './steps/unsubscribe.steps.js';

/** All steps of the demo, in order. */
export const flow: readonly Step[] = [...signUpSteps, ...campaignSteps, ...unsubscribeSteps];
