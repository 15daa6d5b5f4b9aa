import { by, type MetricRow } from '#figures/row'

/** What devices say. */
export const linkRows: readonly MetricRow[] = [
  {
    name: 'ddb_links',
    type: 'gauge',
    help: 'Open websockets of devices and gateways',
    from: 'links',
    read: ({ links }) => links.linkCount,
  },
  {
    name: 'ddb_linked_devices',
    type: 'gauge',
    help: 'Devices that somebody speaks for on a link',
    from: 'links',
    read: ({ links }) => links.deviceCount,
  },
  {
    name: 'ddb_link_frames_total',
    type: 'counter',
    help: 'Frames that came over links',
    from: 'links',
    read: ({ links }) => links.counts.frames,
  },
  {
    name: 'ddb_link_received_bytes_total',
    type: 'counter',
    help: 'Bytes of those frames',
    from: 'links',
    read: ({ links }) => links.counts.bytes,
  },
  {
    name: 'ddb_link_updates_total',
    type: 'counter',
    help: 'UPDATE frames that were handed to their devices',
    from: 'links',
    read: ({ links }) => links.counts.updates,
  },
  {
    name: 'ddb_link_changes_total',
    type: 'counter',
    help: 'Properties in those UPDATE frames',
    from: 'links',
    read: ({ links }) => links.counts.changes,
  },
  {
    name: 'ddb_link_hellos_total',
    type: 'counter',
    help: 'HELLO frames that fit',
    from: 'links',
    read: ({ links }) => links.counts.hellos,
  },
  {
    name: 'ddb_link_refused_frames_total',
    type: 'counter',
    help: 'Frames that were refused, whether that could still be said or not',
    from: 'links',
    read: ({ links }) => links.counts.refused,
  },
  {
    name: 'ddb_link_errors_total',
    type: 'counter',
    help: 'ERROR frames that were said to devices',
    labels: { code: 'as the link says it: `BAD_MESSAGE` … `STORAGE`' },
    from: 'links',
    read: ({ links }) => by('code', links.errors),
  },
]
