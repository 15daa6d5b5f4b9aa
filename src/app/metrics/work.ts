import { type MetricTable, samplesBy, unlabelled } from '#app/metrics/metric'
import { updateServerSecondsBounds } from '#firmware/external-update-server'

/** Alarms, functions, mails and firmware updates. */
export const workMetrics: MetricTable = {
  ddb_alarm_judgements_total: {
    help: 'Conditions of alarms that were evaluated',
    read: ({ rules }) => rules.counts.evaluated,
  },
  ddb_alarm_transitions_total: {
    help: 'Changes of the state of an alarm on one device',
    read: ({ rules }) => rules.counts.transitions,
  },
  ddb_alarm_errors_total: {
    help: 'Conditions that failed or were not evaluated for lack of budget; the alarm keeps its state',
    read: ({ rules }) => rules.counts.errors,
  },
  ddb_function_runs_total: {
    help: 'Runs of functions',
    read: ({ functions }) => functions.counts.runs,
  },
  ddb_function_errors_total: {
    help: 'Conditions of functions that failed, and triggers that did not run for lack of budget',
    read: ({ functions }) => functions.counts.errors,
  },
  ddb_function_requests_total: {
    help: 'Mails that functions requested, counted once for all subscribers',
    read: ({ functions }) => functions.counts.requests,
  },
  ddb_function_overflows_total: {
    help: 'Mails that functions requested above the limit: they are only counted, and recipients see their number',
    read: ({ functions }) => functions.counts.overflown,
  },
  ddb_mails_total: {
    help: 'Attempts to deliver a mail to the mail server',
    labels: {
      outcome: '`ok`, `recipient` and `message` (refused for good), `later`, `transport` (no mail can be sent now)',
    },
    read: ({ deliveries }) => samplesBy('outcome', deliveries.sent),
  },
  ddb_mail_requests_passed_total: {
    help: 'Requests that led to no mail for a subscriber',
    labels: { reason: 'as in `GET /notifications/outbox`' },
    read: ({ deliveries }) => samplesBy('reason', deliveries.passed),
  },
  ddb_mail_subscribers_waiting: {
    help: 'Subscribers with mail that is not sent yet',
    read: ({ deliveries }) => deliveries.waitingCount,
  },
  ddb_mail_transport_resting: {
    help: '1 while the mail server takes no mail, and one mail is tried from time to time',
    read: ({ deliveries }) => (deliveries.transport.state === 'resting' ? 1 : 0),
  },
  ddb_webhook_attempts_total: {
    help: 'Attempts to deliver a webhook',
    labels: { outcome: '`ok`, `refused` (another status), `unanswered`' },
    read: ({ webhooks }) => samplesBy('outcome', webhooks.attempts),
  },
  ddb_webhooks_total: {
    help: 'Webhooks that are finished',
    labels: { status: '`DELIVERED`, `FAILED`, `DROPPED` (too many waited, or were requested)' },
    read: ({ webhooks: { ended }, functions: { counts } }) =>
      samplesBy('status', { ...ended, DROPPED: ended.DROPPED + counts.webhooksDropped }),
  },
  ddb_webhooks_waiting: {
    help: 'Webhooks that are not finished',
    read: ({ webhooks }) => webhooks.waitingCount,
  },
  ddb_updates_under_way: {
    help: 'Firmware updates in progress, however they were started',
    labels: { state: 'of the update: `checking` … `rebooting`' },
    read: ({ updates }) => samplesBy('state', runningOnly(updates.updater.starter.states)),
  },
  ddb_updates_waiting: {
    help: 'Devices whose update waits for one of the 64 slots',
    read: ({ updates }) => updates.updater.starter.waitingCount,
  },
  ddb_updates_total: {
    help: 'Firmware updates, counted when they are offered to a device and when they end',
    labels: { outcome: '`offered`, `done`, `failed` (including updates that the device refused)' },
    read: ({ updates }) => samplesBy('outcome', updates.updater.counts),
  },
  ddb_image_downloads: {
    help: 'Firmware images that are being downloaded',
    read: ({ updates }) => updates.downloads.atOnce,
  },
  ddb_update_server_answers_total: {
    help: 'Answers of the external update server; absent while the embedded one is used',
    labels: { answer: '`offered`, `none`, `busy` (429 or 503), `failed`' },
    read: ({ updateServer }) => (updateServer ? samplesBy('answer', updateServer.counts) : []),
  },
  ddb_update_server_duration_seconds: {
    bounds: updateServerSecondsBounds,
    help: 'Time that the external update server took to answer; absent while the embedded one is used',
    read: ({ updateServer }) => (updateServer ? unlabelled(updateServer.seconds) : []),
  },
}

function runningOnly<
  States extends { readonly idle: number; readonly done: number; readonly failed: number; readonly refused: number },
>(states: States) {
  const { idle: _, done: __, failed: ___, refused: ____, ...running } = states
  return running
}
