import { alone, by, type MetricRow } from '#figures/row'
import { updateServerSecondsBounds } from '#outbound/external-update-server'

/** What alarms and functions make of it, how mails leave, and how devices come by firmware. */
export const workRows: readonly MetricRow[] = [
  {
    name: 'ddb_alarm_judgements_total',
    type: 'counter',
    help: 'Conditions of alarms that were judged',
    from: 'rules',
    read: ({ rules }) => rules.counts.judged,
  },
  {
    name: 'ddb_alarm_transitions_total',
    type: 'counter',
    help: 'Alarms of single devices that began or ended',
    from: 'rules',
    read: ({ rules }) => rules.counts.transitions,
  },
  {
    name: 'ddb_alarm_errors_total',
    type: 'counter',
    help: 'Conditions that failed or were not judged for lack of budget; the alarm keeps its state',
    from: 'rules',
    read: ({ rules }) => rules.counts.errors,
  },
  {
    name: 'ddb_function_runs_total',
    type: 'counter',
    help: 'Functions that were run',
    from: 'functions',
    read: ({ functions }) => functions.counts.runs,
  },
  {
    name: 'ddb_function_errors_total',
    type: 'counter',
    help: 'Conditions of functions that failed, and triggers that did not run for lack of budget',
    from: 'functions',
    read: ({ functions }) => functions.counts.errors,
  },
  {
    name: 'ddb_function_requests_total',
    type: 'counter',
    help: 'Mails that functions asked for, one for all who are subscribed',
    from: 'functions',
    read: ({ functions }) => functions.counts.requests,
  },
  {
    name: 'ddb_function_overflows_total',
    type: 'counter',
    help: 'Mails that functions asked for when too many were kept already: they are only counted, and told so',
    from: 'functions',
    read: ({ functions }) => functions.counts.overflown,
  },
  {
    name: 'ddb_mails_total',
    type: 'counter',
    help: 'Mails that were handed over, each attempt',
    labels: { outcome: '`ok`, `recipient` and `message` (refused for good), `later`, `transport` (no mail goes now)' },
    from: 'deliveries',
    read: ({ deliveries }) => by('outcome', deliveries.sent),
  },
  {
    name: 'ddb_mail_requests_passed_total',
    type: 'counter',
    help: 'Requests that were told to a subscriber in no way',
    labels: { reason: 'as `GET /notifications/outbox` says it' },
    from: 'deliveries',
    read: ({ deliveries }) => by('reason', deliveries.passed),
  },
  {
    name: 'ddb_mail_subscribers_waiting',
    type: 'gauge',
    help: 'Subscribers who have not heard of all',
    from: 'deliveries',
    read: ({ deliveries }) => deliveries.waitingCount,
  },
  {
    name: 'ddb_mail_transport_resting',
    type: 'gauge',
    help: '1 while mails do not leave, and one is tried now and then',
    from: 'deliveries',
    read: ({ deliveries }) => (deliveries.transport.state === 'resting' ? 1 : 0),
  },
  {
    name: 'ddb_updates_under_way',
    type: 'gauge',
    help: 'Firmware updates that go on, however they were begun',
    labels: { state: 'of the machine: `checking` … `rebooting`' },
    from: 'updates',
    read: ({ updates }) => by('state', runningOnly(updates.updater.states)),
  },
  {
    name: 'ddb_updates_waiting',
    type: 'gauge',
    help: 'Devices whose update waits for one of the 64 places',
    from: 'updates',
    read: ({ updates }) => updates.updater.waiting,
  },
  {
    name: 'ddb_updates_total',
    type: 'counter',
    help: 'Firmware updates as they were offered to a device and came to an end',
    labels: { outcome: '`offered`, `done`, `failed` (refused by the device among them)' },
    from: 'updates',
    read: ({ updates }) => by('outcome', updates.updater.counts),
  },
  {
    name: 'ddb_image_downloads',
    type: 'gauge',
    help: 'Firmware images that are being handed out',
    from: 'updates',
    read: ({ updates }) => updates.downloads.atOnce,
  },
  {
    name: 'ddb_update_server_answers_total',
    type: 'counter',
    help: 'What the update server elsewhere said, each time it was asked; absent while the embedded one is used',
    labels: { answer: '`offered`, `none`, `busy` (429 or 503), `failed`' },
    from: 'update server',
    read: ({ updateServer }) => (updateServer ? by('answer', updateServer.counts) : []),
  },
  {
    name: 'ddb_update_server_duration_seconds',
    type: 'histogram',
    bounds: updateServerSecondsBounds,
    help: 'How long the update server elsewhere took; absent while the embedded one is used',
    from: 'update server',
    read: ({ updateServer }) => (updateServer ? alone(updateServer.seconds) : []),
  },
]

function runningOnly<
  States extends { readonly idle: number; readonly done: number; readonly failed: number; readonly refused: number },
>(states: States) {
  const { idle: _, done: __, failed: ___, refused: ____, ...running } = states
  return running
}
