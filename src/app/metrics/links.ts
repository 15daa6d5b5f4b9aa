import { type MetricRow, samplesBy } from '#app/metrics/row'

/** Device connections and their messages. */
export const linkRows: readonly MetricRow[] = [
  {
    name: 'ddb_links',
    type: 'gauge',
    help: 'Open connections of devices and gateways',
    read: ({ links }) => links.linkCount,
  },
  {
    name: 'ddb_linked_devices',
    type: 'gauge',
    help: 'Devices with an open device connection',
    read: ({ links }) => links.deviceCount,
  },
  {
    name: 'ddb_link_frames_total',
    type: 'counter',
    help: 'Frames received on device connections',
    read: ({ links }) => links.counts.frames,
  },
  {
    name: 'ddb_link_received_bytes_total',
    type: 'counter',
    help: 'Bytes of frames received on device connections',
    read: ({ links }) => links.counts.bytes,
  },
  {
    name: 'ddb_link_updates_total',
    type: 'counter',
    help: 'UPDATE frames and MQTT messages with values that were passed to the state of their device',
    read: ({ links }) => links.counts.updates,
  },
  {
    name: 'ddb_link_changes_total',
    type: 'counter',
    help: 'Properties in UPDATE frames and MQTT messages that were passed to the state of their device',
    read: ({ links }) => links.counts.changes,
  },
  {
    name: 'ddb_link_hellos_total',
    type: 'counter',
    help: 'HELLO frames that were accepted',
    read: ({ links }) => links.counts.hellos,
  },
  {
    name: 'ddb_link_refused_frames_total',
    type: 'counter',
    help: 'Frames that were refused, with or without an ERROR frame',
    read: ({ links }) => links.counts.refused,
  },
  {
    name: 'ddb_link_errors_total',
    type: 'counter',
    help: 'ERROR frames that were sent to devices',
    labels: { code: 'the code in the ERROR frame: `BAD_MESSAGE` … `STORAGE`' },
    read: ({ links }) => samplesBy('code', links.errors),
  },
]
