import { deliveryActor, deliveryAddress } from '#actors/delivery/delivery'
import { noticeBus } from '#actors/notice-bus'
import { type OutboxTally, outboxActor, outboxAddress } from '#actors/outbox/outbox'
import { type MailState, subscriberAddress } from '#actors/subscriber/state'
import { subscriberActor } from '#actors/subscriber/subscriber'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { StoredTemplate } from '#model/template'
import type { StoredWebhook, WebhookResult } from '#model/webhook'
import { at, device, shape } from '#test/store/sample-records/entries'
import { subscription } from '#test/store/sample-records/subscription'

/** Every kind of node except webhooks, with and without optional fields. */
const storedFunction: StoredFunction = {
  name: 'Zu heiß, per Mail',
  enabled: true,
  devices: [device.id, 'A'],
  groups: null,
  graph: {
    nodes: [
      {
        id: 'value',
        type: 'trigger',
        on: 'property',
        serviceIdentifier: shape.serviceIdentifier,
        propId: 0x2000,
        to: 21.5,
      },
      { id: 'any.value', type: 'trigger', on: 'property', serviceIdentifier: 'climate', propId: 4_294_967_295 },
      { id: 'alarm', type: 'trigger', on: 'alarm', alarmId: '7Lf2wZs6Dy', to: 'active' },
      { id: 'status', type: 'trigger', on: 'status', to: 'offline' },
      { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, { var: ['previous', 30.5] }] } },
      { id: 'once-an-hour', type: 'throttle', seconds: 3_600 },
      { id: 'tell_them', type: 'email', template: 'too-hot.1' },
    ],
    edges: [
      ['value', 'hot'],
      ['any.value', 'hot'],
      ['alarm', 'once-an-hour'],
      ['status', 'once-an-hour'],
      ['hot', 'once-an-hour'],
      ['once-an-hour', 'tell_them'],
    ],
  },
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: at - 1_000,
  updatedBy: 'crn#key:4Qm8sUx2Bw',
  updatedAt: at,
  edit: 281_474_976_710_655,
}

const storedTemplate: StoredTemplate = {
  locales: {
    en: { subject: '{{device}} is hot', text: '{{value}} °C', html: '<b>{{value}}</b>' },
    'de-CH': { subject: '{{device}} ist heiss', text: 'Jetzt {{value}} °C, vorher {{previous}}.\n' },
  },
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: at,
  updatedBy: 'crn#user:anonymous',
  updatedAt: at + 1,
}

/** Records of a tenant: name of the sample, record, meaning. */
export const functionSamples: readonly (readonly [name: string, record: string, means: unknown])[] = [
  ['tenant-function', 'function/6Hn3wRt5Mz', storedFunction],
  [
    'tenant-function-of-all',
    'function/7Hn3wRt5Mz',
    {
      ...storedFunction,
      enabled: false,
      devices: null,
      graph: { nodes: [{ id: 's', type: 'trigger', on: 'status' }], edges: [] },
    } satisfies StoredFunction,
  ],
  [
    'tenant-function-with-webhook',
    'function/8Hn3wRt5Mz',
    {
      ...storedFunction,
      graph: {
        nodes: [
          { id: 's', type: 'trigger', on: 'status' },
          { id: 'hook', type: 'webhook', url: 'https://example.com/hook' },
          { id: 'gone', type: 'webhook', url: 'https://example.org', enabled: false },
        ],
        edges: [
          ['s', 'hook'],
          ['s', 'gone'],
        ],
      },
      secrets: [
        { node: 'hook', sealed: Buffer.from([1, 2, 254, 255]) },
        { node: 'gone', sealed: Buffer.alloc(60, 7) },
      ],
    } satisfies StoredFunction,
  ],
  ['tenant-template', 'template/too-hot.1', storedTemplate],
]

const requested = { at, device: device.id, node: 'tell_them', template: 'too-hot.1' }

const requests: readonly (readonly [name: string, means: DeliveryRequest])[] = [
  [
    'delivery-request',
    {
      seq: 9_007_199_254_740_991,
      ...requested,
      value: 31.5,
      previous: null,
      cause: { on: 'property', service: shape.serviceIdentifier, propId: 0x2000 },
    },
  ],
  [
    'delivery-request-of-alarm',
    { seq: 2, ...requested, value: true, previous: false, cause: { on: 'alarm', alarm: '7Lf2wZs6Dy' } },
  ],
  [
    'delivery-request-of-status',
    { seq: 3, ...requested, value: 'offline', previous: 'online', cause: { on: 'status' } },
  ],
]

const webhook: StoredWebhook = {
  ...{ id: 'msg_Zm9vYmFyYmF6cXV4eHl6ew', at, device: device.id, node: 'hook', value: 31.5, previous: null },
  cause: { on: 'property', service: shape.serviceIdentifier, propId: 0x2000 },
  ...{ attempts: 2, nextAt: at + 30_000, result: 'timeout' },
}

const result: WebhookResult = {
  ...{ id: 'msg_AAAvYmFyYmF6cXV4eHl6ew', node: 'hook', status: 'DELIVERED', result: 204, attempts: 1 },
  time: at,
}

const mail: MailState = {
  cursors: { '5Tn2bGh9Kd': 17, '6Tn2bGh9Kd': 0 },
  hour: { from: at, count: 60 },
  missed: { '6Hn3wRt5Mz': 4_096 },
  retry: { attempts: 3, nextAt: at + 240_000 },
  refusals: { inRow: 3, address: '0123456789abcdef', restsUntil: at + 86_400_000 },
}

const tally: OutboxTally = {
  sent: 4_294_967_296,
  digests: 2,
  digested: 700,
  failures: { no_address: { count: 1, lastAt: at }, rejected: { count: 3, lastAt: at + 1 } },
}

const deliveries = deliveryActor({ notices: noticeBus(), storedRequestsMax: 1 })
const subscribers = subscriberActor(noticeBus())
const delivery = deliveryAddress('acme', '6Hn3wRt5Mz')
const subscriber = subscriberAddress('acme', '2Vb7qYx9Kd')

/** Records of other actors, with formats and address. */
export const notificationSamples = [
  ['delivery-head', deliveries, delivery, 'head', { seq: 4_294_967_296, trimmed: 17, at } satisfies DeliveryHead],
  ...requests.map(
    ([name, means]) => [name, deliveries, delivery, `request/${String(means.seq).padStart(16, '0')}`, means] as const,
  ),
  ['delivery-webhook', deliveries, delivery, 'webhook/msg_Zm9vYmFyYmF6cXV4eHl6ew', webhook],
  ['delivery-webhook-result', deliveries, delivery, 'webhook_result/msg_AAAvYmFyYmF6cXV4eHl6ew', result],
  ['outbox-tally', outboxActor, outboxAddress('acme'), 'tally', tally],
  [
    'subscriber-subscriptions',
    subscribers,
    subscriber,
    'subscriptions',
    [subscription, { ...subscription, id: '6Tn2bGh9Kd', locale: 'en', origin: '' }],
  ],
  ['subscriber-mail', subscribers, subscriber, 'mail', mail],
  [
    'subscriber-mail-at-rest',
    subscribers,
    subscriberAddress('acme', 'anonymous'),
    'mail',
    { cursors: {}, hour: { from: 0, count: 0 }, missed: {}, retry: null, refusals: null } satisfies MailState,
  ],
] as const
