import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { AddDevice } from '#dashboard/pages/fleet/add-device'
import { columnOf, columnsOf, defaultColumnKeys } from '#dashboard/pages/fleet/columns'
import { ColumnsButton } from '#dashboard/pages/fleet/columns-dialog'
import { wantedOf } from '#dashboard/pages/fleet/condition'
import { FleetGrid } from '#dashboard/pages/fleet/grid'
import { storeColumns, storedColumns } from '#dashboard/pages/fleet/stored-columns'
import { FleetToolbar } from '#dashboard/pages/fleet/toolbar'
import { type ScrollHold, useFleet } from '#dashboard/pages/fleet/use-fleet'
import { defaultView, type FleetView, queryOf, viewOf } from '#dashboard/pages/fleet/view'
import { Button } from '#dashboard/parts/button'
import { Command, Empty, NotLoaded } from '#dashboard/parts/empty'
import { Loading, Page } from '#dashboard/parts/page'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, mayI, session } from '#dashboard/session'
import { state } from '#dashboard/state'
import { now } from '#dashboard/timers'
import { aboutOf } from '#dashboard/values/format-value'
import '#dashboard/pages/fleet/fleet.css'
import { fleetCommand } from '#dashboard/commands'
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'

/** While the user points at rows, they do not move, so that a click hits the intended row. */
const holdMs = 1_000

/** All visible devices, live. */
export default function FleetPage() {
  const { devices, schemas, connection } = state()
  useObservable(schemas)
  const connectionState = useObservable(connection).state
  const [view, change] = useView()
  const [choice, setChoice] = useState(0)
  const [isAdding, setAdding] = useState(false)

  const sorted = columnOf(view.sort, schemas)
  const { condition } = view
  const about = condition && aboutOf(schemas.get(condition.serviceIdentifier), condition.propId)
  const wanted = condition && wantedOf(condition.value, about)
  const [hold] = useState<ScrollHold>({ until: 0 })
  const fleet = useFleet(devices, { view, sortKey: sorted?.sortKey, wanted }, [view, wanted], hold)
  const { identifiers, total, counts, offers } = fleet

  const offered = offers.get(view.service)?.join()
  const columns = useMemo(() => {
    const defaults = defaultColumnKeys(view.service, offers.get(view.service) ?? [])
    return columnsOf(storedColumns(view.service) ?? defaults, schemas)
  }, [view.service, offered, choice, schemas.value])

  const isLoading = total === 0 && !devices.isComplete
  return (
    <Page
      title="Fleet"
      isFilling
      beside={total > 0 && <Count shown={identifiers.length} total={total} isComplete={devices.isComplete} />}
      actions={mayI('device', 'create') && <Button onPress={() => setAdding(true)}>Add device</Button>}
    >
      {total > 0 && (
        <FleetToolbar view={view} change={change} counts={counts} offers={offers} schemas={schemas}>
          <ColumnsButton
            chosen={columns.map(({ key }) => key)}
            service={view.service}
            offers={offers}
            onChoose={(keys) => {
              storeColumns(view.service, keys)
              setChoice(choice + 1)
            }}
          />
        </FleetToolbar>
      )}
      {isLoading && (connectionState === 'closed' ? <NotLoaded /> : <Loading text="Loading the fleet…" />)}
      {total === 0 && !isLoading && <NoDevices onAdd={() => setAdding(true)} />}
      {total > 0 && identifiers.length === 0 && (
        <Empty title="No devices found">
          <p>None of the {total.toLocaleString()} devices matches the search and the filters.</p>
          <Button kind="primary" onPress={() => change(defaultView)}>
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
            hold.until = now() + holdMs
          }}
          onSort={(key) => change({ sort: key, isDescending: key === view.sort && !view.isDescending })}
        />
      )}
      <AddDevice isOpen={isAdding} onClose={() => setAdding(false)} />
    </Page>
  )
}

interface CountProps {
  readonly shown: number
  readonly total: number
  readonly isComplete: boolean
}

function Count({ shown, total, isComplete }: CountProps) {
  const all = `${total.toLocaleString()} ${total === 1 ? 'device' : 'devices'}${isComplete ? '' : ' so far'}`
  return <span class="soft number">{shown === total ? all : `${shown.toLocaleString()} of ${all}`}</span>
}

/** The view in the address, and a function to change parts of it. The back button returns to the same view. */
function useView(): readonly [FleetView, (change: Partial<FleetView>) => void] {
  const [view, setView] = useState(viewInAddress)
  // Fast typing may change the view again before it is rendered.
  const latest = useRef(view)
  const show = (changed: FleetView) => {
    latest.current = changed
    setView(changed)
  }
  useEffect(() => {
    // Only for navigation; changes below do not fire this event.
    const onHashChange = () => show(viewInAddress())
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [])
  const change = (part: Partial<FleetView>) => {
    const changed = { ...latest.current, ...part }
    const query = queryOf(changed)
    history.replaceState(null, '', query === '' ? '#/' : `#/?${query}`)
    show(changed)
  }
  return [view, change]
}

function viewInAddress(): FleetView {
  const { hash } = location
  return viewOf(hash.slice(hash.indexOf('?') + 1 || hash.length))
}

/** The simulated devices accept writes. */
const options = '--writes answer'

/** For a new server: how to see devices within a minute, and how to connect a real one. */
function NoDevices({ onAdd }: { readonly onAdd: () => void }) {
  const [key, setKey] = useState('')
  const isOff = session.value.state === 'IAM off'
  const mayAdd = mayI('device', 'create')
  const mayCreateKey = mayI('device', 'create', { deviceIdentifier: '*' })
  const createKey = async () => {
    await createSchemas()
    const created = await client.call('POST /iam/provisioning-keys', { body: { name: 'Simulated fleet' } })
    setKey(created.key)
  }
  return (
    <Empty title="No devices yet">
      <p>
        A device appears here with its first message. To try it, start fifty simulated devices from the folder of this
        server:
      </p>
      {(isOff || key !== '') && (
        <Command command={fleetCommand(isOff ? { options: `${options} --schemas` } : { options, key })} />
      )}
      {!isOff && key === '' && mayCreateKey && (
        <Button kind="primary" onPress={createKey}>
          Create key
        </Button>
      )}
      {!isOff && !mayCreateKey && <p>They need a provisioning key, which an administrator can create.</p>}
      {mayAdd && (
        <>
          <p>Or add a real device: it gets a name and a secret to connect with.</p>
          <Button onPress={onAdd}>Add device</Button>
        </>
      )}
    </Empty>
  )
}

/** Creates schemas, so that values have names and units; the simulated fleet itself may only report for devices. */
async function createSchemas(): Promise<void> {
  const { schemas } = state()
  const puts = [...simulatedSchemas]
    .filter(
      ([serviceIdentifier]) => !schemas.has(serviceIdentifier) && mayI('schemas', 'create', { serviceIdentifier }),
    )
    .map(([serviceIdentifier, body]) =>
      client.call('PUT /schemas/:serviceIdentifier', { parameters: { serviceIdentifier }, body }),
    )
  await Promise.all(puts)
}
