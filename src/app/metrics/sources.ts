import type { Identity } from '#access/identity'
import type { Tickets } from '#access/tickets'
import type { ProcessFigures } from '#app/metrics/process-figures'
import type { Hub } from '#events/hub'
import type { ExternalUpdateServer } from '#firmware/external-update-server'
import type { FirmwareUpdates } from '#firmware/firmware-updates'
import type { HttpMetrics } from '#http/http-metrics'
import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import type { Deliveries } from '#notifications/deliveries'
import type { FunctionViews } from '#rules/function-views'
import type { RuleViews } from '#rules/rule-views'
import type { System } from '#runtime/system'
import type { Backups } from '#store/backup/backups'
import type { Database } from '#store/database'
import type { StoreJournal } from '#store/store-journal'

/** What of the server between its ports is looked at, beside what routes answer from. */
export interface Watched {
  readonly journal: StoreJournal
  readonly rules: RuleViews
  readonly functions: FunctionViews
  readonly updates: FirmwareUpdates
  readonly deliveries: Deliveries
}

/** Where all metrics come from: what counts anyway, and is only read here. */
export interface MetricSources extends Watched {
  readonly system: System<Entry>
  readonly hub: Hub
  readonly links: Links
  readonly tickets: Tickets
  readonly database: Database
  readonly backups: Pick<Backups, 'counts' | 'lastDoneAt'>
  readonly http: HttpMetrics
  /** Requests whose answer is not complete. */
  readonly inFlight: () => number
  /** Undefined: IAM is off. */
  readonly identity: Identity['figures'] | undefined
  /** Undefined: the embedded one is asked, which is a part of this process. */
  readonly updateServer: Pick<ExternalUpdateServer, 'counts' | 'seconds'> | undefined
  readonly process: ProcessFigures
}
