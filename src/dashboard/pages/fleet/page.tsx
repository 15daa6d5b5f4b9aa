import '#dashboard/pages/fleet/fleet.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Answer } from '#client/client'
import { firstMessage, fleetCommand } from '#dashboard/commands'
import { Button } from '#dashboard/components/button'
import { Command, Secret } from '#dashboard/components/copy-button'
import { Dialog } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { Empty, Loading, NotLoaded, Page } from '#dashboard/components/page'
import { problemText } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { columnOf, columnsOf, defaultColumnKeys } from '#dashboard/pages/fleet/columns'
import { identifiersMax } from '#dashboard/pages/fleet/fleet-search'
import { FleetGrid } from '#dashboard/pages/fleet/grid'
import { type Selection, toggleSelection } from '#dashboard/pages/fleet/selection'
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'
import { FleetToolbar, storeColumns, storedColumns } from '#dashboard/pages/fleet/toolbar'
import { type ScrollHold, useFleet, useOffers } from '#dashboard/pages/fleet/use-fleet'
import {
  defaultView,
  type FleetView,
  fleetQueryOf,
  parseConditionValue,
  queryOf,
  viewOf,
} from '#dashboard/pages/fleet/view'
import { client, liveState, mayUser, session } from '#dashboard/session'
import { now } from '#dashboard/timers'
import { countText, schemaOfProperty } from '#dashboard/values/format-value'

/** While the user points at rows, they do not move, so that a click hits the intended row. */
const holdMs = 1_000

/** The devices that the user may see, live. */
export default function FleetPage() {
  const { schemas, connection } = liveState()
  useObservable(schemas)
  const connectionState = useObservable(connection).state
  const [view, change] = useView()
  const [choice, setChoice] = useState(0)
  const [isAdding, setAdding] = useState(false)

  const { condition } = view
  const about = condition && schemaOfProperty(schemas.get(condition.serviceIdentifier), condition.propId)
  const wanted = condition && parseConditionValue(condition.value, about)
  const [hold] = useState<ScrollHold>({ until: 0 })
  const { sortKey } = useMemo(() => columnOf(view.sort, schemas), [view.sort, schemas.value]) ?? {}
  const { identifiers, isComplete, isOutdated, canSort, problem } = useFleet({ view, sortKey, wanted, hold })
  const offers = useOffers()
  const isAllKnown = !isOutdated && (isComplete || identifiers?.length === identifiersMax)
  const selection = useSelection(identifiers, isAllKnown)

  const offered = offers.get(view.service)?.join()
  const columns = useMemo(() => {
    const defaults = defaultColumnKeys(view.service, offers.get(view.service) ?? [])
    return columnsOf(storedColumns(view.service) ?? defaults, schemas)
  }, [view.service, offered, choice, schemas.value])

  const isFiltered = Object.keys(fleetQueryOf(view, wanted)).length > 0
  const count = identifiers?.length ?? 0
  const isEmpty = count === 0 && isComplete
  const hasDevices = count > 0 || isFiltered
  return (
    <Page
      title="Fleet"
      isFilling
      beside={count > 0 && <Count {...{ count, isComplete, isOutdated, isFiltered }} />}
      actions={mayUser('device', 'create') && <Button onPress={() => setAdding(true)}>Add device</Button>}
    >
      {hasDevices && (
        <FleetToolbar
          {...{ view, change, offers, schemas }}
          columns={columns.map(({ key }) => key)}
          onColumns={(keys) => {
            storeColumns(view.service, keys)
            setChoice(choice + 1)
          }}
        />
      )}
      {selection.selected.size > 0 && <LazySelectionBar {...selection} />}
      {problem !== undefined && <p class="problem">{problemText(problem)}</p>}
      {!identifiers &&
        problem === undefined &&
        (connectionState === 'closed' ? <NotLoaded /> : <Loading text="Loading the fleet…" />)}
      {isEmpty && !isFiltered && <NoDevices onAdd={() => setAdding(true)} />}
      {isEmpty && isFiltered && (
        <Empty title="No devices found">
          <p>No device matches the search and the filters.</p>
          <Button kind="primary" onPress={() => change(defaultView)}>
            Show all
          </Button>
        </Empty>
      )}
      {identifiers && count > 0 && (
        <FleetGrid
          identifiers={identifiers}
          columns={columns}
          sort={canSort || view.sort === 'device' ? view.sort : ''}
          canSort={canSort}
          selection={mayChangeMany() ? selection : undefined}
          isDescending={view.isDescending}
          onPoint={() => {
            hold.until = now() + holdMs
          }}
          onSort={(key) => change({ sort: key, isDescending: key === view.sort && !view.isDescending })}
        />
      )}
      <Dialog title="Add device" isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddDeviceForm />
      </Dialog>
    </Page>
  )
}

const nothing: ReadonlySet<string> = new Set()
const none: readonly string[] = []

function useSelection(shown: readonly string[] | undefined, isAllKnown: boolean): Selection {
  const identifiers = shown ?? none
  const [selected, setSelected] = useState(nothing)
  const pressed = useRef<string>()
  const isAllSelected = useMemo(
    () =>
      identifiers.length > 0 && selected.size >= identifiers.length && identifiers.every((each) => selected.has(each)),
    [identifiers, selected],
  )
  return {
    selected,
    isAllSelected,
    onSelect(identifier, isRange) {
      setSelected(toggleSelection(selected, identifiers, identifier, isRange ? pressed.current : undefined))
      pressed.current = identifier
    },
    onAll: isAllKnown ? () => setSelected(isAllSelected ? nothing : new Set([...selected, ...identifiers])) : undefined,
    onClear: () => setSelected(nothing),
  }
}

/** Whether the user may do anything with selected devices. */
function mayChangeMany(): boolean {
  const isAny = (['service', 'functions', 'meta', 'updates'] as const).some((resource) => mayUser(resource, 'update'))
  return isAny || mayUser('device', 'delete')
}

/** The actions for selected devices, whose code is loaded with the first selection. */
function LazySelectionBar(props: Selection) {
  const { value: bar, problem } = useCall(() => import('#dashboard/pages/fleet/bulk-changes/selection-bar'), [])
  useEffect(() => {
    if (problem === undefined) return
    notify('The actions could not be loaded: the server cannot be reached, or was updated.', 'failed')
  }, [problem])
  return bar ? <bar.default {...props} /> : <Loading />
}

interface CountProps {
  readonly count: number
  readonly isComplete: boolean
  readonly isOutdated: boolean
  readonly isFiltered: boolean
}

function Count({ count, isComplete, isOutdated, isFiltered }: CountProps) {
  if (isOutdated) return <span class="soft">Searching…</span>
  const text = `${countText(count, 'device')}${isFiltered ? ' found' : ''}`
  const shown = isComplete ? text : count < identifiersMax ? `${text} so far` : `The first ${text}`
  return <span class="soft number">{shown}</span>
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

/** For a new server: how to see devices within a minute, and how to connect a real device. */
function NoDevices({ onAdd }: { readonly onAdd: () => void }) {
  const [key, setKey] = useState('')
  const isOff = session.value.state === 'IAM off'
  const mayAdd = mayUser('device', 'create')
  const mayCreateKey = mayUser('device', 'create', { deviceIdentifier: '*' })
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

/**
 * Creates schemas, so that values have names and units. The provisioning key of the simulated fleet permits only
 * reports.
 */
async function createSchemas(): Promise<void> {
  const { schemas } = liveState()
  const puts = [...simulatedSchemas]
    .filter(
      ([serviceIdentifier]) => !schemas.has(serviceIdentifier) && mayUser('schemas', 'create', { serviceIdentifier }),
    )
    .map(([serviceIdentifier, body]) =>
      client.call('PUT /schemas/:serviceIdentifier', { parameters: { serviceIdentifier }, body }),
    )
  await Promise.all(puts)
}

/** Creates a device before its first contact, and shows its secret once. */
function AddDeviceForm() {
  const identifier = useField('')
  const [created, setCreated] = useState<Answer<'POST /devices'>>()
  if (created) {
    const { deviceIdentifier, secret } = created
    return (
      <Form submit="Open device" onSubmit={() => navigateTo(pathOf('devices', deviceIdentifier))} onCancel={false}>
        <Secret label={`Secret of ${deviceIdentifier}`} text={secret} />
        <p>To send its first message by hand:</p>
        <Command command={firstMessage(deviceIdentifier, secret)} />
      </Form>
    )
  }
  const add = async () => {
    const device = await client.call('POST /devices', { body: { deviceIdentifier: identifier.value.trim() } })
    setCreated(device)
    notify(`${device.deviceIdentifier} is added`)
    return false
  }
  return (
    <Form submit="Add" isDisabled={identifier.value.trim() === ''} onSubmit={add}>
      <TextField
        label="Identifier"
        hint="Letters, digits, - and =; stored in upper case. The device connects with this name."
        {...identifier}
        path="deviceIdentifier"
        autocomplete="off"
        maxLength={64}
        isCode
        hasFocus
      />
    </Form>
  )
}
