import { collectionBounds, collectionKinds, delayBounds } from '#app/metrics/process-metrics'
import { type MetricRow, unlabelled } from '#app/metrics/row'

const microsecondsPerSecond = 1e6

/** The process and its versions. */
export const processRows: readonly MetricRow[] = [
  {
    name: 'ddb_build_info',
    type: 'gauge',
    help: 'Always 1',
    labels: { version: 'version of this server', node: 'version of Node.js' },
    read: ({ process: { version } }) => [{ labels: { version, node: process.version }, value: 1 }],
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process started, in seconds since 1970',
    read: ({ process: { startedAt } }) => startedAt,
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'CPU time of all threads, without the separate process for passwords',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / microsecondsPerSecond
    },
  },
  {
    name: 'process_cpu_system_seconds_total',
    type: 'counter',
    help: 'CPU time of all threads in the kernel',
    read: () => process.cpuUsage().system / microsecondsPerSecond,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the process',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    help: 'Bytes of objects in the heap, including garbage',
    read: () => process.memoryUsage().heapUsed,
  },
  {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    help: 'Size of the heap',
    read: () => process.memoryUsage().heapTotal,
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Bytes outside the heap that belong to objects in it',
    read: () => process.memoryUsage().external,
  },
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    bounds: collectionBounds,
    help: 'Time of one garbage collection',
    labels: { kind: '`minor`, `major`, `incremental`, `weakcb`' },
    read: ({ process: { collections } }) =>
      collectionKinds.map((kind) => ({ labels: { kind }, histogram: collections[kind] })),
  },
  {
    name: 'ddb_loop_delay_seconds',
    type: 'histogram',
    bounds: delayBounds,
    help: 'Delay of the event loop, measured every 20 ms',
    read: ({ process: { loopDelay } }) => unlabelled(loopDelay),
  },
  {
    name: 'ddb_loop_active_seconds_total',
    type: 'counter',
    help: 'Time that the event loop worked; its rate is the utilization of the loop',
    read: ({ process: { loopTimes } }) => loopTimes.active / 1000,
  },
  {
    name: 'ddb_loop_idle_seconds_total',
    type: 'counter',
    help: 'Time that the event loop was idle',
    read: ({ process: { loopTimes } }) => loopTimes.idle / 1000,
  },
  {
    name: 'ddb_data_disk_free_bytes',
    type: 'gauge',
    help: 'Free bytes on the disk of the data folder; absent if the system does not report them',
    read: async ({ process }) => sampleIfKnown((await process.disk())?.freeBytes),
  },
  {
    name: 'ddb_data_disk_size_bytes',
    type: 'gauge',
    help: 'Size of the disk of the data folder; absent if the system does not report it',
    read: async ({ process }) => sampleIfKnown((await process.disk())?.sizeBytes),
  },
]

function sampleIfKnown(value: number | undefined) {
  return value === undefined ? [] : [{ labels: {}, value }]
}
