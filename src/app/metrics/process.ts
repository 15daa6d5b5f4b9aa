import { type MetricTable, unlabelled } from '#app/metrics/metric'
import { collectionBounds, collectionKinds, delayBounds } from '#app/metrics/process-metrics'
import { loopTimes } from '#app/world'
import { version } from '#model/version'

const microsecondsPerSecond = 1e6

/** The process and its versions. */
export const processMetrics: MetricTable = {
  ddb_build_info: {
    help: 'Always 1',
    labels: { version: 'version of this server', node: 'version of Node.js' },
    read: () => [{ labels: { version, node: process.version }, value: 1 }],
  },
  process_start_time_seconds: {
    help: 'When the process started, in seconds since 1970',
    read: ({ process: { startedAt } }) => startedAt,
  },
  process_cpu_seconds_total: {
    help: 'CPU time of all threads, without the separate process for passwords',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / microsecondsPerSecond
    },
  },
  process_cpu_system_seconds_total: {
    help: 'CPU time of all threads in the kernel',
    read: () => process.cpuUsage().system / microsecondsPerSecond,
  },
  process_resident_memory_bytes: {
    help: 'Resident memory of the process',
    read: () => process.memoryUsage.rss(),
  },
  nodejs_heap_size_used_bytes: {
    help: 'Bytes of objects in the heap, including garbage',
    read: () => process.memoryUsage().heapUsed,
  },
  nodejs_heap_size_total_bytes: {
    help: 'Size of the heap',
    read: () => process.memoryUsage().heapTotal,
  },
  nodejs_external_memory_bytes: {
    help: 'Bytes outside the heap that belong to objects in it',
    read: () => process.memoryUsage().external,
  },
  nodejs_gc_duration_seconds: {
    bounds: collectionBounds,
    help: 'Time of one garbage collection',
    labels: { kind: '`minor`, `major`, `incremental`, `weakcb`' },
    read: ({ process: { collections } }) =>
      collectionKinds.map((kind) => ({ labels: { kind }, histogram: collections[kind] })),
  },
  ddb_loop_delay_seconds: {
    bounds: delayBounds,
    help: 'Delay of the event loop, measured every 20 ms',
    read: ({ process: { loopDelay } }) => unlabelled(loopDelay),
  },
  ddb_loop_active_seconds_total: {
    help: 'Time that the event loop worked; its rate is the utilization of the loop',
    read: () => loopTimes().active / 1000,
  },
  ddb_loop_idle_seconds_total: {
    help: 'Time that the event loop was idle',
    read: () => loopTimes().idle / 1000,
  },
  ddb_data_disk_free_bytes: {
    help: 'Free bytes on the disk of the data folder; absent if the system does not report them',
    read: async ({ process }) => sampleIfKnown((await process.disk())?.freeBytes),
  },
  ddb_data_disk_size_bytes: {
    help: 'Size of the disk of the data folder; absent if the system does not report it',
    read: async ({ process }) => sampleIfKnown((await process.disk())?.sizeBytes),
  },
}

function sampleIfKnown(value: number | undefined) {
  return value === undefined ? [] : [{ labels: {}, value }]
}
