import type { DeviceCommand } from '#actors/device/commands'
import type { DeviceFunctions } from '#actors/device/turn-runs'
import type { StoredAlarm } from '#model/alarm'
import type { Entry } from '#model/entry'
import { everything, type Scope } from '#model/scope'
import { RuleViews } from '#rules/tenant-rules'
import type { Decision } from '#runtime/actor'
import { ActingDevice, deviceWith } from '#test/actors/acting-device'
import { atOnce } from '#test/rules/synchronous-slices'

/** A device without a runtime, in a tenant with alarms. */
export class DeviceWithAlarms extends ActingDevice {
  readonly rules: RuleViews
  /** Rows of the alarm index, as `I1/A`. */
  readonly rows = new Set<string>()
  /** The access of the authors of alarms. `mayRead` changes it. */
  scope: Scope = everything

  constructor(functions?: DeviceFunctions) {
    const scopeOf = () => this.scope
    const rules = new RuleViews({ scopeOf, sweep: () => {}, runInSlices: atOnce, log: { info: () => {} } })
    super('A', deviceWith(rules, functions))
    this.rules = rules
    this.rules.load([])
    this.act({ type: 'add', flakeAddress: 7, meta: {} })
  }

  putAlarm(id: string, alarm: StoredAlarm | undefined): void {
    this.rules.alarmChanged('default', id, alarm)
  }

  mayRead(scope: Scope): void {
    this.scope = scope
    this.rules.accessChanged('default')
  }

  override act(command: DeviceCommand): Decision<Entry> {
    const decision = super.act(command)
    if (decision.type !== 'record') return decision
    for (const { index, entry, isPresent } of decision.indexes ?? []) {
      if (index !== 'alarm') continue
      if (isPresent) this.rows.add(entry)
      else this.rows.delete(entry)
    }
    return decision
  }

  get alarmStates() {
    return Object.fromEntries(this.state.alarms)
  }
}

/** The alarm events of a turn, as `I1 active 5`. The number is the time since which the state holds. */
export function turnsOf(decision: Decision<Entry>): string[] {
  if (decision.type !== 'record') return []
  return decision.events.flatMap((event) => {
    if (event.kind !== 'alarm_changed') return []
    const status = event.isActive ? 'active' : event.isEnded ? 'ended' : 'inactive'
    return [`${event.alarm} ${status} ${event.since}`]
  })
}
