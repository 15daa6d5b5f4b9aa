import { useEffect, useRef, useState } from 'preact/hooks'
import type { Arranged } from '#dashboard/pages/fleet/arrange'
import type { Schemas } from '#dashboard/pages/fleet/columns'
import { ConditionDialog } from '#dashboard/pages/fleet/condition-dialog'
import type { FleetView, StatusFilter } from '#dashboard/pages/fleet/view'
import { Button } from '#dashboard/parts/button'
import { aboutOf, nameOf } from '#dashboard/values/format-value'

export interface FleetToolbarProps {
  readonly view: FleetView
  readonly change: (part: Partial<FleetView>) => void
  readonly counts: Arranged['counts']
  readonly offers: ReadonlyMap<string, readonly number[]>
  readonly schemas: Schemas
  readonly onColumns: () => void
}

const statuses: readonly (readonly [StatusFilter, string])[] = [
  ['any', 'All'],
  ['online', 'Online'],
  ['idle', 'Idle'],
  ['offline', 'Offline'],
]

/** Search, filters and columns. `/` comes here from anywhere on the page. */
export function FleetToolbar({ view, change, counts, offers, schemas, onColumns }: FleetToolbarProps) {
  const search = useRef<HTMLInputElement>(null)
  const [isAsking, setAsking] = useState(false)
  useSlash(() => search.current?.focus())
  const services = [...offers.keys()]
    .map((identifier) => [identifier, schemas.get(identifier)?.name ?? identifier] as const)
    .sort(([, one], [, other]) => (one < other ? -1 : 1))
  return (
    <search class="toolbar" aria-label="Devices">
      <input
        ref={search}
        class="input search"
        type="search"
        placeholder="Search, or press /"
        aria-label="Search in identifiers and notes"
        value={view.search}
        onInput={({ currentTarget }) => change({ search: currentTarget.value })}
        onKeyDown={({ key }) => key === 'Escape' && change({ search: '' })}
      />
      <div class="filters">
        <fieldset class="segments">
          <legend class="hidden">Status</legend>
          {statuses.map(([status, title]) => (
            <Button key={status} isPressed={view.status === status} onPress={() => change({ status })}>
              {title} <span class="number soft">{counts[status].toLocaleString()}</span>
            </Button>
          ))}
        </fieldset>
        <select
          class="input service"
          aria-label="Service"
          value={view.service}
          onChange={({ currentTarget }) =>
            change({ service: currentTarget.value, sort: 'device', isDescending: false })
          }
        >
          <option value="">Any service</option>
          {services.map(([identifier, name]) => (
            <option key={identifier} value={identifier}>
              {name}
            </option>
          ))}
        </select>
        {view.condition ? (
          <Button label="Remove the condition" isPressed onPress={() => change({ condition: undefined })}>
            {conditionText(view.condition, schemas)} <span aria-hidden="true">×</span>
          </Button>
        ) : (
          <Button onPress={() => setAsking(true)}>Condition…</Button>
        )}
        <Button onPress={onColumns}>Columns…</Button>
      </div>
      <ConditionDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        service={view.service}
        offers={offers}
        schemas={schemas}
        onChoose={(condition) => change({ condition })}
      />
    </search>
  )
}

function conditionText(condition: NonNullable<FleetView['condition']>, schemas: Schemas): string {
  const about = aboutOf(schemas.get(condition.serviceIdentifier), condition.propId)
  const unit = about?.unit ? ` ${about.unit}` : ''
  return `${nameOf(condition.propId, about)} ${condition.operator} ${condition.value}${unit}`
}

/** As where code is read: a slash that nobody is writing is for the search. */
function useSlash(run: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target, key } = event
      if (key !== '/' || (target instanceof Element && target.closest('input, textarea, select, dialog'))) return
      event.preventDefault()
      run()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}
