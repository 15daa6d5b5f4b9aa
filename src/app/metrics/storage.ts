import { type MetricRow, samplesBy, unlabelled } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { commitEventsBounds, commitSecondsBounds } from '#runtime/gate'
import type { DatabaseStatus } from '#store/database'
import type { StreamFollower } from '#store/stream-follower'

const states = ['ok', 'read_only', 'closed'] as const satisfies readonly DatabaseStatus[]

/** The database. */
export const storageRows: readonly MetricRow[] = [
  {
    name: 'ddb_store_state',
    type: 'gauge',
    help: 'Whether the store is in this state: 1 for one of them, 0 for the others',
    labels: { state: '`ok`, `read_only`, `closed`' },
    read: ({ database }) => states.map((state) => ({ labels: { state }, value: database.status === state ? 1 : 0 })),
  },
  {
    name: 'ddb_commit_duration_seconds',
    type: 'histogram',
    bounds: commitSecondsBounds,
    help: 'Time to write a commit',
    read: ({ system }) => unlabelled(system.gate.commitSeconds),
  },
  {
    name: 'ddb_commit_events',
    type: 'histogram',
    bounds: commitEventsBounds,
    help: 'Events in a commit',
    read: ({ system }) => unlabelled(system.gate.commitEvents),
  },
  {
    name: 'ddb_commit_records_total',
    type: 'counter',
    help: 'Records that commits wrote or deleted, including snapshots',
    read: ({ system }) => system.gate.counts.records,
  },
  {
    name: 'ddb_commit_failures_total',
    type: 'counter',
    help: 'Commits that failed: waiting changes were refused, and the state was read from the store again',
    read: ({ system }) => system.gate.counts.failed,
  },
  {
    name: 'ddb_uncommitted_bytes',
    type: 'gauge',
    help: 'Bytes that wait to be stored or sent; above 64 MiB further changes are refused as OVERLOADED',
    read: ({ system }) => system.gate.waitingBytes,
  },
  {
    name: 'ddb_stream_written_bytes_total',
    type: 'counter',
    help: 'Bytes of events that were stored',
    read: ({ system }) => system.gate.counts.bytes,
  },
  {
    name: 'ddb_stream_bytes',
    type: 'gauge',
    help: 'Bytes of all retained events',
    read: ({ journal }) => sum(journal.streams(), ({ bytes }) => bytes),
  },
  {
    name: 'ddb_stream_events',
    type: 'gauge',
    help: 'All retained events',
    read: ({ journal }) => sum(journal.streams(), ({ last, retainedFrom }) => last + 1 - retainedFrom),
  },
  {
    name: 'ddb_projection_lag_events',
    type: 'gauge',
    help: 'Stored events that a projection has not read yet',
    labels: { projection: '`history`' },
    read: ({ follower }) => lagOf(follower, ({ entries }) => entries),
  },
  {
    name: 'ddb_projection_lag_seconds',
    type: 'gauge',
    help: 'Age of the newest event that a projection has read, if there are later ones',
    labels: { projection: '`history`' },
    read: ({ follower }) => lagOf(follower, ({ ms }) => ms / 1000),
  },
  {
    name: 'ddb_redo_events',
    type: 'gauge',
    help: 'Events that a start would replay',
    read: ({ system }) => sum(system.registry.heads(), ({ taken, redo }) => taken + 1 - redo.redoFrom(taken + 1)),
  },
  {
    name: 'ddb_redo_actors',
    type: 'gauge',
    help: 'Devices with events that are not in a snapshot yet',
    read: ({ system }) => sum(system.registry.heads(), ({ redo }) => redo.size),
  },
  {
    name: 'ddb_store_memory_bytes',
    type: 'gauge',
    help: 'Memory of the store: up to 32 MiB for blocks that were read, and up to 32 MiB for the latest writes',
    read: ({ database }) => database.memoryBytes,
  },
  {
    name: 'ddb_actors_awake',
    type: 'gauge',
    help: 'Actors in memory',
    labels: { kind: 'of the actor: `device`, `tenant`, …' },
    read: awakeByKind,
  },
  {
    name: 'ddb_reminders',
    type: 'gauge',
    help: 'Actors with a timer: to evaluate an alarm, end a session, delete an action',
    read: ({ system }) => system.reminders.count,
  },
  {
    name: 'ddb_backups_total',
    type: 'counter',
    help: 'Backups that were started, by outcome',
    labels: { outcome: '`done`, `broken_off`' },
    read: ({ backups }) => samplesBy('outcome', backups.counts),
  },
  {
    name: 'ddb_last_backup_time_seconds',
    type: 'gauge',
    help: 'When this process completed its last backup, in seconds since 1970; absent before the first',
    read: ({ backups: { lastDoneAt } }) => (lastDoneAt === undefined ? [] : [{ labels: {}, value: lastDoneAt / 1000 }]),
  },
]

function lagOf(follower: MetricSources['follower'], read: (lag: StreamFollower['lag']) => number) {
  return follower ? samplesBy('projection', { [follower.name]: read(follower.lag) }) : []
}

function sum<T>(things: Iterable<T>, of: (thing: T) => number): number {
  let total = 0
  for (const thing of things) total += of(thing)
  return total
}

function awakeByKind({ system: { registry } }: MetricSources) {
  return samplesBy('kind', Object.fromEntries([...registry.kinds].map((kind) => [kind, registry.awakeCountOf(kind)])))
}
