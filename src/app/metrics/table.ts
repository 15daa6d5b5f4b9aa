import { callRows } from '#app/metrics/calls'
import { clusterRows } from '#app/metrics/cluster'
import { eventRows } from '#app/metrics/events'
import { identityRows } from '#app/metrics/identity'
import { linkRows } from '#app/metrics/links'
import { mqttRows } from '#app/metrics/mqtt'
import { processRows } from '#app/metrics/process'
import type { MetricRow } from '#app/metrics/row'
import { storageRows } from '#app/metrics/storage'
import { workRows } from '#app/metrics/work'

/** All metrics, grouped by subject, in the order of their output. */
export const metricGroups: readonly { readonly title: string; readonly rows: readonly MetricRow[] }[] = [
  { title: 'Device connections', rows: linkRows },
  { title: 'MQTT', rows: mqttRows },
  { title: 'Events and their subscribers', rows: eventRows },
  { title: 'The store', rows: storageRows },
  { title: 'The cluster', rows: clusterRows },
  { title: 'Requests', rows: callRows },
  { title: 'Authentication', rows: identityRows },
  { title: 'Alarms, functions, mail and firmware', rows: workRows },
  { title: 'The process', rows: processRows },
]

export const metricRows: readonly MetricRow[] = metricGroups.flatMap(({ rows }) => rows)
