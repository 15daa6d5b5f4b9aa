import { expect, test } from 'vitest'
import { RecordingRules } from '#test/actors/recording-rules'
import { bothViews } from '#workers/while-serving'

test('both views hear of groups, each of its own, and nothing while the store is read', () => {
  const [alarms, functions] = [new RecordingRules(), new RecordingRules()]
  let isServing = false
  const rules = bothViews(alarms, functions, () => isServing)
  const sayAll = () => {
    rules.alarmChanged('t', 'a', undefined)
    rules.groupChanged('t', 'g', undefined)
    rules.schemaChanged('t', 's', undefined)
    rules.functionChanged('t', 'f', undefined)
    rules.templateChanged('t', 'm', undefined)
  }
  sayAll()
  expect([alarms.heard, functions.heard]).toEqual([[], []])
  isServing = true
  sayAll()
  expect(alarms.heard).toEqual(['alarm t/a gone', 'group t/g gone', 'schema t/s gone'])
  expect(functions.heard).toEqual(['group t/g gone', 'function t/f gone', 'template t/m gone'])
})
