import '#dashboard/pages/fleet/fleet.css'
import { useMemo, useState } from 'preact/hooks'
import { AddDevice } from '#dashboard/pages/fleet/add-device'
import { columnOf, type FleetColumn, usualKeys } from '#dashboard/pages/fleet/columns'
import { ColumnsDialog } from '#dashboard/pages/fleet/columns-dialog'
import { wantedOf } from '#dashboard/pages/fleet/condition'
import { FleetGrid, narrow } from '#dashboard/pages/fleet/grid'
import { keepColumns, keptColumns } from '#dashboard/pages/fleet/kept-columns'
import { NoDevices } from '#dashboard/pages/fleet/no-devices'
import { FleetToolbar } from '#dashboard/pages/fleet/toolbar'
import { type Held, useFleet } from '#dashboard/pages/fleet/use-fleet'
import { useView } from '#dashboard/pages/fleet/use-view'
import { everything } from '#dashboard/pages/fleet/view'
import { Button } from '#dashboard/parts/button'
import { Empty, NotRead } from '#dashboard/parts/empty'
import { Page } from '#dashboard/parts/page'
import { useObservable } from '#dashboard/parts/use-observable'
import { mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import { aboutOf } from '#dashboard/values/format-value'
import { now } from '#dashboard/world'

/** Whoever points at a row means that one, not the one that comes in its place. */
const heldMs = 1_000

/** Every device that one may see, live. */
export default function FleetPage() {
  const { devices, schemas, connection } = state()
  useObservable(schemas)
  const connected = useObservable(connection).state
  const [view, change] = useView()
  const [choice, setChoice] = useState(0)
  const [isChoosing, setChoosing] = useState(false)
  const [isAdding, setAdding] = useState(false)

  const sorted = columnOf(view.sort, schemas)
  const { condition } = view
  const about = condition && aboutOf(schemas.get(condition.serviceIdentifier), condition.propId)
  const wanted = condition && wantedOf(condition.value, about)
  const [held] = useState<Held>({ until: 0 })
  const fleet = useFleet(devices, { view, sortKey: sorted?.sortKey, wanted }, [view, wanted], held)
  const { identifiers, total, counts, offers } = fleet

  const offered = offers.get(view.service)?.join()
  const columns = useMemo(() => {
    const usual = usualKeys(view.service, offers.get(view.service) ?? [], matchMedia(narrow).matches)
    const keys = keptColumns(view.service) ?? usual
    return keys.map((key) => columnOf(key, schemas)).filter((column): column is FleetColumn => column !== undefined)
  }, [view.service, offered, choice, schemas.value])

  const isUnread = total === 0 && !devices.isComplete
  return (
    <Page
      title="Fleet"
      isFilling
      beside={total > 0 && <Count shown={identifiers.length} total={total} isComplete={devices.isComplete} />}
      actions={mayI('device', 'create') && <Button onPress={() => setAdding(true)}>Add a device</Button>}
    >
      {total > 0 && (
        <FleetToolbar
          view={view}
          change={change}
          counts={counts}
          offers={offers}
          schemas={schemas}
          onColumns={() => setChoosing(true)}
        />
      )}
      {isUnread && (connected === 'closed' ? <NotRead /> : <Reading />)}
      {total === 0 && !isUnread && <NoDevices onAdd={() => setAdding(true)} />}
      {total > 0 && identifiers.length === 0 && (
        <Empty title="No device fits">
          <p>None of {total.toLocaleString()} devices is what the search and the filters ask for.</p>
          <Button kind="primary" onPress={() => change(everything)}>
            Show all
          </Button>
        </Empty>
      )}
      {identifiers.length > 0 && (
        <FleetGrid
          identifiers={identifiers}
          columns={columns}
          sort={view.sort}
          isDescending={view.isDescending}
          onPoint={() => {
            held.until = now() + heldMs
          }}
          onSort={(key) => change({ sort: key, isDescending: key === view.sort && !view.isDescending })}
        />
      )}
      <ColumnsDialog
        isOpen={isChoosing}
        onClose={() => setChoosing(false)}
        chosen={columns.map(({ key }) => key)}
        service={view.service}
        offers={offers}
        onChoose={(keys) => {
          keepColumns(view.service, keys)
          setChoice(choice + 1)
        }}
      />
      <AddDevice isOpen={isAdding} onClose={() => setAdding(false)} />
    </Page>
  )
}

interface CountProps {
  readonly shown: number
  readonly total: number
  /** Whether all of them were read. */
  readonly isComplete: boolean
}

function Count({ shown, total, isComplete }: CountProps) {
  const all = `${total.toLocaleString()} ${total === 1 ? 'device' : 'devices'}${isComplete ? '' : ' so far'}`
  return <span class="soft number">{shown === total ? all : `${shown.toLocaleString()} of ${all}`}</span>
}

function Reading() {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Reading the fleet…
    </p>
  )
}
