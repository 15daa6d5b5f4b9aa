import { collectionBounds, collectionKinds, delayBounds } from '#figures/process-figures'
import { alone, type MetricRow } from '#figures/row'

const microsecondsPerSecond = 1e6

/** How the process is, and what it runs. What is said of any process is called as everywhere. */
export const processRows: readonly MetricRow[] = [
  {
    name: 'ddb_build_info',
    type: 'gauge',
    help: 'Always 1',
    labels: { version: 'of this server', node: 'version of Node.js' },
    from: 'process',
    read: ({ process: { version } }) => [{ labels: { version, node: process.version }, value: 1 }],
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process began, in seconds since 1970',
    from: 'process',
    read: ({ process: { startedAt } }) => startedAt,
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'CPU time of all threads; the process for passwords is another one',
    from: 'process',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / microsecondsPerSecond
    },
  },
  {
    name: 'process_cpu_system_seconds_total',
    type: 'counter',
    help: 'Of that, what the kernel spent',
    from: 'process',
    read: () => process.cpuUsage().system / microsecondsPerSecond,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory of the process as the machine sees it',
    from: 'process',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    help: 'What objects take in the heap, garbage among them',
    from: 'process',
    read: () => process.memoryUsage().heapUsed,
  },
  {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    help: 'What the heap takes',
    from: 'process',
    read: () => process.memoryUsage().heapTotal,
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'What lies outside the heap and belongs to objects in it',
    from: 'process',
    read: () => process.memoryUsage().external,
  },
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    bounds: collectionBounds,
    help: 'How long garbage was collected, each time',
    labels: { kind: '`minor`, `major`, `incremental`, `weakcb`' },
    from: 'process',
    read: ({ process: { collections } }) =>
      collectionKinds.map((kind) => ({ labels: { kind }, histogram: collections[kind] })),
  },
  {
    name: 'ddb_loop_delay_seconds',
    type: 'histogram',
    bounds: delayBounds,
    help: 'By how much the loop came too late, looked at every 20 ms',
    from: 'process',
    read: ({ process: { loopDelay } }) => alone(loopDelay),
  },
  {
    name: 'ddb_loop_active_seconds_total',
    type: 'counter',
    help: 'How long the loop worked; what of a second it did is how busy it was',
    from: 'process',
    read: ({ process: { loopTimes } }) => loopTimes.active / 1000,
  },
  {
    name: 'ddb_loop_idle_seconds_total',
    type: 'counter',
    help: 'How long the loop waited for something to do',
    from: 'process',
    read: ({ process: { loopTimes } }) => loopTimes.idle / 1000,
  },
  {
    name: 'ddb_data_disk_free_bytes',
    type: 'gauge',
    help: 'Room that is left on the disk of the data folder; absent where it does not say',
    from: 'process',
    read: async ({ process }) => known((await process.disk())?.freeBytes),
  },
  {
    name: 'ddb_data_disk_size_bytes',
    type: 'gauge',
    help: 'Size of the disk of the data folder; absent where it does not say',
    from: 'process',
    read: async ({ process }) => known((await process.disk())?.sizeBytes),
  },
]

function known(value: number | undefined) {
  return value === undefined ? [] : [{ labels: {}, value }]
}
