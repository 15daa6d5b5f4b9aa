import { parseJson, validate } from '#http/validation'
import { AlarmBody } from '#model/alarm'
import { ServiceSchema } from '#model/service-schema'
import { AlarmRule, resolveNames } from '#rules/alarm-rule'
import { CompiledCondition } from '#rules/compiled-condition'
import { declared, expectThat, refusing, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** Reads the JsonLogic of an alarm. */

export const seeds = seedsOf(
  { '>': [{ var: '0x0001' }, 30] },
  { and: [{ '<': [0, { var: 'level' }, 100] }, { '!': { missing: ['level', '0x0003.UINT32'] } }] },
  { if: [{ in: [{ var: ['0x0002', 'x'] }, ['a', 'b']] }, { '+': ['1', 2, -3] }, { '%': [7, { var: ['no', 2] }] }] },
  { '===': [{ max: [1, { min: [{ var: '0x0004' }, 2] }] }, { '/': [4, 2] }] },
)

const schema = ServiceSchema.parse({ name: 'All', properties: { '0x0001': { name: 'level' } } })
const states = [31, 'abc', '7', null, true, [1, 'a'], { error: 'broken' }]

export const fuzz: Target['fuzz'] = (bytes) =>
  refusing(
    () => {
      const alarm = {
        name: 'A',
        severity: 'info',
        serviceIdentifier: declared.serviceIdentifier,
        condition: parseJson(bytes),
      }
      const { condition, ...body } = validate(AlarmBody, alarm) as AlarmBody
      const [user, at] = ['crn#user:User111111', 1_790_000_000_000]
      const people = { createdBy: user, createdAt: at, updatedBy: user, updatedAt: at }
      const stored = { ...body, ...people, condition, forSeconds: 0, devices: null, groups: null, edit: 1 }
      const counts = { evaluated: 0, errors: 0 }
      const rule = new AlarmRule(stored, {
        ...{ id: 'A', serial: 1, counts },
        resolved: resolveNames(new CompiledCondition(condition), schema),
      })
      const shaped = rule.shaped(declared, 0)
      for (const first of states.keys()) {
        const source = { at: (place: number) => states[(first + place) % states.length] ?? null }
        const holds = shaped.evaluate(source)
        expectThat(holds !== 'skipped', 'an alarm is true, false, or not evaluated')
        expectThat(shaped.evaluate(source) === holds, 'an alarm is deterministic')
      }
    },
    'invalid',
    'bad_request',
  )
