import { BoundedMap } from '#access/bounded-map'
import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/address'
import type { Caller } from '#model/caller'
import type { Condition } from '#model/condition'
import { devicesWithin } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { schemasFor } from '#routes/sight'
import type { StateText } from '#routes/state-text'
import { compileFilter, type DeviceFilter, type FilterSource, onlyNamed } from '#rules/device-filter'

/** As many as are asked for in turn by a few dashboards; up to some 10 KB each. */
const filtersMax = 64

/** Filters that were asked for lately: the next page, and the dashboard that asks again, bring the same. */
export class DeviceFilters {
  readonly #compiled = new BoundedMap<string, DeviceFilter>(filtersMax)

  /** @throws Problem `invalid`, for names of nothing a device has */
  of(condition: Condition): DeviceFilter {
    const text = JSON.stringify(condition)
    const filter = this.#compiled.get(text) ?? compileFilter(condition)
    // Set anew, it is the youngest.
    this.#compiled.set(text, filter)
    return filter
  }
}

/** Looks for devices: as one is now, or undefined where there is none, or the filter does not find it. Does not wake it. */
export function deviceFinder(
  context: RouteContext,
  caller: Caller,
  { mayRead }: StateText,
  filter: DeviceFilter | undefined,
): (device: string) => DeviceState | undefined {
  const { tenant, scope } = caller
  if (!filter) return (device) => context.system.look(deviceAddress(tenant, device))
  const source: FilterSource = {
    tenant: { schemas: schemasFor(caller, context.system.wake(tenantAddress(tenant))) },
    mayReadService: mayRead,
    mayReadMeta: devicesWithin(scope, 'meta', 'read'),
  }
  if (!filter.needsState) {
    return (device) =>
      filter.matches(onlyNamed(device), source) ? context.system.look(deviceAddress(tenant, device)) : undefined
  }
  return (device) => {
    const state = context.system.look(deviceAddress(tenant, device))
    return state && filter.matches(state, source) ? state : undefined
  }
}
