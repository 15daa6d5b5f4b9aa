import { type MetricRow, unlabelled } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { logSecondsBounds } from '#cluster/replicated-storage'

type Status = ReturnType<NonNullable<MetricSources['cluster']>['node']['status']>

/** This node of a cluster. These metrics are absent without `NATS_URL`. */
export const clusterRows: readonly MetricRow[] = [
  {
    name: 'ddb_cluster_owner',
    type: 'gauge',
    help: 'Whether this node is the owner: 1 or 0',
    read: ofStatus(({ isOwner }) => (isOwner ? 1 : 0)),
  },
  {
    name: 'ddb_cluster_generation',
    type: 'gauge',
    help: 'Generation of the log, which rises when a node becomes the owner',
    read: ofStatus(({ generation }) => generation),
  },
  {
    name: 'ddb_cluster_take_overs_total',
    type: 'counter',
    help: 'How often this node became the owner',
    read: ({ cluster }) => (cluster ? cluster.metrics.takeOvers : []),
  },
  {
    name: 'ddb_cluster_nodes',
    type: 'gauge',
    help: 'Nodes that this one knows to be running, itself included',
    read: ofStatus(({ nodes }) => nodes.length),
  },
  {
    name: 'ddb_cluster_lag_entries',
    type: 'gauge',
    help: 'Messages of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.entries),
  },
  {
    name: 'ddb_cluster_lag_seconds',
    type: 'gauge',
    help: 'Age of the oldest message of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.ms / 1000),
  },
  {
    name: 'ddb_cluster_log_duration_seconds',
    type: 'histogram',
    bounds: logSecondsBounds,
    help: 'Time until a commit of the owner has come back from the log',
    read: ({ cluster }) => (cluster ? unlabelled(cluster.metrics.logSeconds) : []),
  },
]

function ofStatus(value: (status: Status) => number) {
  return ({ cluster }: MetricSources) => (cluster ? value(cluster.node.status()) : [])
}
