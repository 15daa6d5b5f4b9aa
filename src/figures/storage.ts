import { alone, by, type MetricRow } from '#figures/row'
import type { MetricSources } from '#figures/sources'
import { commitEventsBounds, commitSecondsBounds } from '#runtime/gate'
import type { DatabaseStatus } from '#store/database'

const states = ['ok', 'read_only', 'closed'] as const satisfies readonly DatabaseStatus[]

/** How it rests. */
export const storageRows: readonly MetricRow[] = [
  {
    name: 'ddb_store_state',
    type: 'gauge',
    help: 'Whether the store is in this state: 1 for one of them, 0 for the others',
    labels: { state: '`ok`, `read_only`, `closed`' },
    from: 'database',
    read: ({ database }) => states.map((state) => ({ labels: { state }, value: database.status === state ? 1 : 0 })),
  },
  {
    name: 'ddb_commit_duration_seconds',
    type: 'histogram',
    bounds: commitSecondsBounds,
    help: 'How long commits took to be written',
    from: 'gate',
    read: ({ system }) => alone(system.gate.commitSeconds),
  },
  {
    name: 'ddb_commit_events',
    type: 'histogram',
    bounds: commitEventsBounds,
    help: 'How many events were in each commit',
    from: 'gate',
    read: ({ system }) => alone(system.gate.commitEvents),
  },
  {
    name: 'ddb_commit_records_total',
    type: 'counter',
    help: 'Records that commits wrote or deleted, snapshots among them',
    from: 'gate',
    read: ({ system }) => system.gate.counts.records,
  },
  {
    name: 'ddb_commit_failures_total',
    type: 'counter',
    help: 'Commits that failed: what waited was refused, and the store was read anew',
    from: 'gate',
    read: ({ system }) => system.gate.counts.failed,
  },
  {
    name: 'ddb_uncommitted_bytes',
    type: 'gauge',
    help: 'What waits to be stored or to leave; above 64 MiB more is refused as OVERLOADED',
    from: 'gate',
    read: ({ system }) => system.gate.waitingBytes,
  },
  {
    name: 'ddb_stream_written_bytes_total',
    type: 'counter',
    help: 'Bytes of events that were stored',
    from: 'gate',
    read: ({ system }) => system.gate.counts.bytes,
  },
  {
    name: 'ddb_stream_bytes',
    type: 'gauge',
    help: 'Bytes of all streams as they are retained',
    from: 'journal',
    read: ({ journal }) => sum(journal.streams(), ({ bytes }) => bytes),
  },
  {
    name: 'ddb_stream_events',
    type: 'gauge',
    help: 'Events of all streams as they are retained',
    from: 'journal',
    read: ({ journal }) => sum(journal.streams(), ({ last, retainedFrom }) => last + 1 - retainedFrom),
  },
  {
    name: 'ddb_redo_events',
    type: 'gauge',
    help: 'Events that a start would go through again',
    from: 'streams',
    read: ({ system }) => sum(system.registry.heads(), ({ taken, redo }) => taken + 1 - redo.redoFrom(taken + 1)),
  },
  {
    name: 'ddb_redo_actors',
    type: 'gauge',
    help: 'Devices with events that no snapshot holds',
    from: 'streams',
    read: ({ system }) => sum(system.registry.heads(), ({ redo }) => redo.size),
  },
  {
    name: 'ddb_store_memory_bytes',
    type: 'gauge',
    help: 'Memory of the store itself: blocks that were read, up to 32 MiB, and what was written last, up to 32 MiB',
    from: 'database',
    read: ({ database }) => database.memoryBytes,
  },
  {
    name: 'ddb_actors_awake',
    type: 'gauge',
    help: 'Actors that are in memory',
    labels: { kind: 'of the actor: `device`, `tenant`, …' },
    from: 'registry',
    read: awakeByKind,
  },
  {
    name: 'ddb_reminders',
    type: 'gauge',
    help: 'Actors that are woken at a time: to judge an alarm, end a session, forget an action',
    from: 'registry',
    read: ({ system }) => system.reminders.count,
  },
  {
    name: 'ddb_backups_total',
    type: 'counter',
    help: 'Backups that were begun, by how they ended',
    labels: { outcome: '`done`, `broken_off`' },
    from: 'backups',
    read: ({ backups }) => by('outcome', backups.counts),
  },
  {
    name: 'ddb_last_backup_time_seconds',
    type: 'gauge',
    help: 'When this process made the last whole backup, in seconds since 1970; absent before',
    from: 'backups',
    read: ({ backups: { lastDoneAt } }) => (lastDoneAt === undefined ? [] : [{ labels: {}, value: lastDoneAt / 1000 }]),
  },
]

function sum<T>(things: Iterable<T>, of: (thing: T) => number): number {
  let total = 0
  for (const thing of things) total += of(thing)
  return total
}

function awakeByKind({ system: { registry } }: MetricSources) {
  return by('kind', Object.fromEntries([...registry.kinds].map((kind) => [kind, registry.awakeCountOf(kind)])))
}
