import { filterField } from '#api/fields'
import { validate } from '#http/validation'
import type { JsonObject } from '#model/json-value'
import { ServiceSchema } from '#model/service-schema'
import { compileFilter, deviceWithName, type FilteredDevice, type FilterSource } from '#rules/device-filter'
import { declared, expectThat, refusing, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** Reads a filter of devices in a query. */

const schema = ServiceSchema.parse({ name: 'All', properties: { '0x0001': { name: 'level' } } })
const source: FilterSource = {
  tenant: { schemas: new Map([[declared.serviceIdentifier, schema]]) },
  mayReadService: () => true,
  mayReadMeta: (device) => device !== 'C',
}
const meta: JsonObject = { site: { floor: 3, 'a.b': [1, 'x'] }, 'site.name': 'roof' }
const states = [7, 300, 70_000, '1', -1, 'text', true, null, { error: 'broken' }, [1, 2], 0.5]
const service = { shape: declared, stateOf: (index: number) => states[index % states.length] ?? null }
const devices: readonly FilteredDevice[] = [
  deviceWithName('A'),
  { device: 'B', status: 'online', meta, services: [service] },
  { device: 'C', status: 'idle', meta, services: [service] },
]

export const seeds = seedsOf(
  { '==': [{ var: 'deviceIdentifier' }, 'B'] },
  { and: [{ '>': [{ var: 'services.all-types.level' }, 3] }, { '!': { missing: ['meta.site.floor'] } }] },
  { if: [{ in: [{ var: ['status', 'x'] }, ['online', 'idle']] }, { '+': ['1', 2, -3] }, { var: 'meta.site.a.b' }] },
  { or: [{ '<': [0, { var: 'services.all-types.0x0002' }, 1e3] }, { '===': [{ max: [1, { min: [2, 3] }] }, 2] }] },
)

export const fuzz: Target['fuzz'] = (bytes) =>
  refusing(() => {
    const filter = compileFilter(
      validate(filterField, Buffer.from(bytes).toString()) as Parameters<typeof compileFilter>[0],
    )
    for (const device of devices) expectThat(typeof filter.matches(device, source) === 'boolean', 'a filter decides')
  }, 'invalid')
