import type { Identity } from '#access/identity'
import type { HealthStatus } from '#api/health'
import type { ProcessMetrics } from '#app/metrics/process-metrics'
import type { LogMetrics } from '#cluster/replicated-storage'
import type { ExternalUpdateServer } from '#firmware/external-update-server'
import type { FirmwareUpdates } from '#firmware/firmware-updates'
import type { HttpMetrics } from '#http/http-metrics'
import type { Deliveries } from '#notifications/deliveries'
import type { Webhooks } from '#notifications/webhooks'
import type { RouteContext } from '#routes/context'
import type { FunctionViews } from '#rules/function-views'
import type { RuleViews } from '#rules/tenant-rules'
import type { Backups } from '#store/backup/backup-writer'
import type { Database } from '#store/database'
import type { StoreJournal } from '#store/store-journal'
import type { StreamFollower } from '#store/stream-follower'

/** Objects of the assembly that metrics read, in addition to those that routes use. */
export interface MetricParts {
  readonly journal: StoreJournal
  /** Passes the streams to the history. Undefined: history is off. */
  readonly follower: StreamFollower | undefined
  readonly rules: RuleViews
  readonly functions: FunctionViews
  readonly updates: FirmwareUpdates
  readonly deliveries: Deliveries
  readonly webhooks: Webhooks
}

export interface MqttMetrics {
  connectionCount(): number
  readonly counts: { readonly received: number; readonly refused: number }
}

/** The sources of all metrics: existing counters, which are only read here. */
export interface MetricSources extends MetricParts, Pick<RouteContext, 'system' | 'devices' | 'events' | 'audit'> {
  readonly database: Database
  readonly backups: Pick<Backups, 'counts' | 'lastDoneAt'>
  readonly http: HttpMetrics
  /** Requests with an incomplete answer. */
  readonly inFlight: () => number
  /** Undefined: authentication is off. */
  readonly identity: Identity['metrics'] | undefined
  /** The external update server. Undefined: the embedded update server is used, which is a part of this process. */
  readonly updateServer: Pick<ExternalUpdateServer, 'counts' | 'seconds'> | undefined
  readonly process: ProcessMetrics
  /** Undefined: MQTT is off, or not open yet. */
  readonly mqtt: () => MqttMetrics | undefined
  /** Undefined: this server is not a node of a cluster. */
  readonly cluster:
    | {
        readonly node: { status(): NonNullable<HealthStatus['cluster']> }
        readonly metrics: LogMetrics
      }
    | undefined
}
