import '#dashboard/pages/fleet/fleet.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Answer } from '#client/client'
import { address } from '#dashboard/address'
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
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'
import { FleetToolbar, storeColumns, storedColumns } from '#dashboard/pages/fleet/toolbar'
import { useFleet, useOffers } from '#dashboard/pages/fleet/use-fleet'
import { type Selection, useSelection } from '#dashboard/pages/fleet/use-selection'
import {
  defaultView,
  type FleetView,
  fleetQueryOf,
  parseConditionValue,
  queryOf,
  viewOf,
} from '#dashboard/pages/fleet/view'
import { client, liveState, mayUser, session } from '#dashboard/session'
import { countText, schemaOfProperty } from '#dashboard/values/format-value'

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
  const { sortKey } = useMemo(() => columnOf(view.sort, schemas), [view.sort, schemas.value]) ?? {}
  const { identifiers, isComplete, isOutdated, canSort, problem } = useFleet(view, wanted, sortKey)
  const offers = useOffers()
  const isAllKnown = !isOutdated && (isComplete || identifiers?.length === identifiersMax)
  const selection = useSelection(identifiers ?? none, isAllKnown)

  const offered = offers.get(view.service)?.join()
  const columns = useMemo(() => {
    const defaults = defaultColumnKeys(view.service, offers.get(view.service) ?? [])
    return columnsOf(storedColumns(view.service) ?? defaults, schemas)
  }, [view.service, offered, choice, schemas.value])

  const isFiltered = Object.keys(fleetQueryOf(view, wanted)).length > 0
  const count = identifiers?.length ?? 0
  const counted = `${countText(count, 'device')}${isFiltered ? ' found' : ''}`
  const found = isComplete ? counted : count < identifiersMax ? `${counted} so far` : `The first ${counted}`
  const isEmpty = count === 0 && isComplete
  const mayChangeMany =
    (['service', 'functions', 'meta', 'updates'] as const).some((resource) => mayUser(resource, 'update')) ||
    mayUser('device', 'delete')
  return (
    <Page
      title="Fleet"
      isFilling
      beside={count > 0 && <span class={isOutdated ? 'soft' : 'soft number'}>{isOutdated ? 'Searching…' : found}</span>}
      actions={mayUser('device', 'create') && <Button onPress={() => setAdding(true)}>Add device</Button>}
    >
      {(count > 0 || isFiltered) && (
        <FleetToolbar
          {...{ view, change, offers }}
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
          selection={mayChangeMany ? selection : undefined}
          isDescending={view.isDescending}
          onSort={(key) => change({ sort: key, isDescending: key === view.sort && !view.isDescending })}
        />
      )}
      <Dialog title="Add device" isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddDeviceForm />
      </Dialog>
    </Page>
  )
}

const none: readonly string[] = []

/** The actions for selected devices, whose code is loaded with the first selection. */
function LazySelectionBar(props: Selection) {
  const { value: bar, problem } = useCall(() => import('#dashboard/pages/fleet/bulk-changes/selection-bar'), [])
  useEffect(() => {
    if (problem === undefined) return
    notify('The actions could not be loaded: the server cannot be reached, or was updated.', 'failed')
  }, [problem])
  return bar ? <bar.default {...props} /> : <Loading />
}

/** The view in the address, and a function to change parts of it. The back button returns to the same view. */
function useView(): readonly [FleetView, (change: Partial<FleetView>) => void] {
  useObservable(address)
  const change = (part: Partial<FleetView>) => {
    // The address, because fast typing may change the view again before it is rendered.
    const query = queryOf({ ...viewInAddress(), ...part })
    navigateTo(query === '' ? '/' : `/?${query}`, { replace: true })
  }
  return [viewInAddress(), change]
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
    // So that values have names and units: the provisioning key of the simulated fleet permits only reports.
    const { schemas } = liveState()
    const missing = [...simulatedSchemas].filter(
      ([serviceIdentifier]) => !schemas.has(serviceIdentifier) && mayUser('schemas', 'create', { serviceIdentifier }),
    )
    const puts = missing.map(([serviceIdentifier, body]) =>
      client.call('PUT /schemas/:serviceIdentifier', { parameters: { serviceIdentifier }, body }),
    )
    await Promise.all(puts)
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
