import { type MetricRow, samplesBy } from '#app/metrics/row'

/** Subscribers and events. */
export const eventRows: readonly MetricRow[] = [
  {
    name: 'ddb_events_total',
    type: 'counter',
    help: 'Events that were stored and published, with or without subscribers',
    read: ({ hub }) => hub.counts.events,
  },
  {
    name: 'ddb_event_publishes_total',
    type: 'counter',
    help: 'Published events, counted once for each class of sockets that may receive them',
    read: ({ hub }) => hub.counts.publishes,
  },
  {
    name: 'ddb_event_deliveries_total',
    type: 'counter',
    help: 'Published events, counted once for each socket that may receive them, also for sockets that are behind',
    read: ({ hub }) => hub.counts.deliveries,
  },
  {
    name: 'ddb_event_delivered_bytes_total',
    type: 'counter',
    help: 'Bytes of ddb_event_deliveries_total; a character beyond ASCII counts as one',
    read: ({ hub }) => hub.counts.bytes,
  },
  {
    name: 'ddb_event_caught_up_total',
    type: 'counter',
    help: 'Events that were sent to single sockets after these had missed them',
    read: ({ hub }) => hub.counts.caughtUp,
  },
  {
    name: 'ddb_event_sockets',
    type: 'gauge',
    help: 'Open websockets of applications',
    read: ({ hub }) => hub.socketCount(),
  },
  {
    name: 'ddb_event_sockets_behind',
    type: 'gauge',
    help: 'Websockets of applications that are not live: they resume, or are too slow',
    read: ({ hub }) => hub.behindCount(),
  },
  {
    name: 'ddb_event_sockets_fallen_total',
    type: 'counter',
    help: 'How often a live socket fell behind',
    read: ({ hub }) => hub.counts.fallen,
  },
  {
    name: 'ddb_event_resyncs_total',
    type: 'counter',
    help: 'RESYNC messages: a socket has to read the full state again',
    read: ({ hub }) => hub.counts.resyncs,
  },
  {
    name: 'ddb_tickets_total',
    type: 'counter',
    help: 'Tickets for the event websocket',
    labels: { outcome: '`issued`, `used`, `refused` (sent, but not valid)' },
    read: ({ tickets }) => samplesBy('outcome', tickets.counts),
  },
  {
    name: 'ddb_tickets_waiting',
    type: 'gauge',
    help: 'Tickets that were issued and are not used yet',
    read: ({ tickets }) => tickets.waitingCount,
  },
]
