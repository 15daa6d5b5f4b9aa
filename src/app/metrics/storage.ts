import { type MetricTable, samplesBy, unlabelled } from '#app/metrics/metric'
import type { MetricSources } from '#app/metrics/sources'
import { commitEventsBounds, commitSecondsBounds } from '#runtime/gate'
import type { DatabaseStatus } from '#store/database'
import type { StreamFollower } from '#store/stream-follower'

const states = ['ok', 'read_only', 'closed'] as const satisfies readonly DatabaseStatus[]

/** The database. */
export const storageMetrics: MetricTable = {
  ddb_store_state: {
    help: 'Whether the store is in this state: 1 for one of them, 0 for the others',
    labels: { state: '`ok`, `read_only`, `closed`' },
    read: ({ database }) => states.map((state) => ({ labels: { state }, value: database.status === state ? 1 : 0 })),
  },
  ddb_commit_duration_seconds: {
    bounds: commitSecondsBounds,
    help: 'Time to write a commit',
    read: ({ system }) => unlabelled(system.gate.commitSeconds),
  },
  ddb_commit_events: {
    bounds: commitEventsBounds,
    help: 'Events in a commit',
    read: ({ system }) => unlabelled(system.gate.commitEvents),
  },
  ddb_commit_records_total: {
    help: 'Records that commits wrote or deleted, including snapshots',
    read: ({ system }) => system.gate.counts.records,
  },
  ddb_commit_failures_total: {
    help: 'Commits that failed: waiting changes were refused, and the state was read from the store again',
    read: ({ system }) => system.gate.counts.failed,
  },
  ddb_uncommitted_bytes: {
    help: 'Bytes that wait to be stored or sent; above 64 MiB further changes are refused as OVERLOADED',
    read: ({ system }) => system.gate.waitingBytes,
  },
  ddb_stream_written_bytes_total: {
    help: 'Bytes of events that were stored',
    read: ({ system }) => system.gate.counts.bytes,
  },
  ddb_stream_bytes: {
    help: 'Bytes of all retained events',
    read: ({ journal }) => sum(journal.streams(), ({ bytes }) => bytes),
  },
  ddb_stream_events: {
    help: 'All retained events',
    read: ({ journal }) => sum(journal.streams(), ({ last, retainedFrom }) => last + 1 - retainedFrom),
  },
  ddb_projection_lag_events: {
    help: 'Stored events that a projection has not read yet',
    labels: { projection: '`history`' },
    read: ({ follower }) => lagOf(follower, ({ entries }) => entries),
  },
  ddb_projection_lag_seconds: {
    help: 'Age of the newest event that a projection has read, if there are later ones',
    labels: { projection: '`history`' },
    read: ({ follower }) => lagOf(follower, ({ ms }) => ms / 1000),
  },
  ddb_redo_events: {
    help: 'Events that a start would replay',
    read: ({ system }) => sum(system.registry.heads(), ({ taken, redo }) => taken + 1 - redo.redoFrom(taken + 1)),
  },
  ddb_redo_actors: {
    help: 'Devices with events that are not in a snapshot yet',
    read: ({ system }) => sum(system.registry.heads(), ({ redo }) => redo.size),
  },
  ddb_store_memory_bytes: {
    help: 'Memory of the store: up to 32 MiB for blocks that were read, and up to 32 MiB for the latest writes',
    read: ({ database }) => database.memoryBytes,
  },
  ddb_actors_awake: {
    help: 'Actors in memory',
    labels: { kind: 'of the actor: `device`, `tenant`, …' },
    read: awakeByKind,
  },
  ddb_reminders: {
    help: 'Actors with a timer: to evaluate an alarm, end a session, delete an action',
    read: ({ system }) => system.reminders.count,
  },
  ddb_backups_total: {
    help: 'Backups that were started, by outcome',
    labels: { outcome: '`done`, `broken_off`' },
    read: ({ backups }) => samplesBy('outcome', backups.counts),
  },
  ddb_last_backup_time_seconds: {
    help: 'When this process completed its last backup, in seconds since 1970; absent before the first',
    read: ({ backups: { lastDoneAt } }) => (lastDoneAt === undefined ? [] : [{ labels: {}, value: lastDoneAt / 1000 }]),
  },
}

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
