import { Argument, type Command } from 'commander';
import { type CliContext, printing } from '../output.js';

/** Programs that `mailwright` runs beside the CLI's commands, with what they do. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  start: 'run PostgreSQL, api and worker on this machine, with a demo project',
  demo: 'take a subscriber through the main flow, against what `start` runs',
  api: 'run an api',
  worker: 'run a worker',
  health: 'end with 0 if the api or worker of this container is ready',
};

/** The command that prints a shell's completion of commands, options and their values. */
export function addCompletionCommand(program: Command, cli: CliContext): void {
  program
    .command('completion')
    .description('print the completion of commands and options for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .action((shell: 'bash' | 'zsh', options: object) =>
      printing(
        cli,
        () => Promise.resolve({ script: shell === 'bash' ? bash(program) : zsh(program) }),
        ({ script }) => script,
      )(options),
    );
}

interface Word {
  readonly name: string;
  readonly description: string;
}

function commandsOf(program: Command): Word[] {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
  }));
  const programs = Object.entries(PROGRAMS).map(([name, description]) => ({ name, description }));
  return [
    ...programs,
    { name: 'help', description: 'list the commands, or the options of one' },
    ...commands,
  ];
}

function optionsOf(command: Command): Word[] {
  return command.options.map(({ long, description }) => ({ name: long ?? '', description }));
}

/** Values of options that take one of a few, by the option. */
function valuesOf(program: Command): Map<string, string> {
  const options = program.commands.flatMap((command) => command.options);
  return new Map(
    options.flatMap(({ long, argChoices }) =>
      long == null || argChoices === undefined ? [] : [[long, argChoices.join(' ')] as const],
    ),
  );
}

const namesOf = (words: readonly Word[]) => words.map(({ name }) => name).join(' ');

/** Words are read from the line itself: to bash a colon ends one. */
function bash(program: Command): string {
  const options = program.commands.map(
    (command) => `    ${command.name()}) words='${namesOf(optionsOf(command))}' ;;`,
  );
  const values = [...valuesOf(program)].map(([option, choices]) => `    ${option}) words='${choices}' ;;`);
  return `# Completes mailwright in bash. In ~/.bashrc: eval "$(mailwright completion bash)"
_mailwright() {
  local line=\${COMP_LINE:0:COMP_POINT} given words= i
  read -ra given <<< "$line"
  [[ $line == *' ' ]] && given+=('')
  local count=\${#given[@]}
  local current=\${given[count - 1]}
  if ((count == 2)); then
    words='${namesOf(commandsOf(program))}'
  else
    case \${given[1]} in
    help) words='${namesOf(commandsOf(program))}' ;;
    completion) words='bash zsh' ;;
${options.join('\n')}
    esac
    case \${given[count - 2]} in
${values.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    for i in "\${!COMPREPLY[@]}"; do COMPREPLY[i]=\${COMPREPLY[i]#"\${current%:*}:"}; done
  fi
}
complete -F _mailwright mailwright`;
}

function zsh(program: Command): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const described = (words: readonly Word[]) =>
    words
      .map(({ name, description }) => quoted(`${name.replaceAll(':', '\\:')}:${description}`))
      .join('\n      ');
  const options = program.commands.map(
    (command) => `    ${command.name()}) found=(\n      ${described(optionsOf(command))}\n    ) ;;`,
  );
  const values = [...valuesOf(program)].map(
    ([option, choices]) => `    ${option}) compadd -- ${choices}; return ;;`,
  );
  return `# Completes mailwright in zsh. In ~/.zshrc, after compinit: eval "$(mailwright completion zsh)"
_mailwright() {
  local -a found
  if ((CURRENT == 2)) || [[ $CURRENT == 3 && $words[2] == help ]]; then
    found=(
      ${described(commandsOf(program))}
    )
    _describe command found
    return
  fi
  case $words[CURRENT-1] in
${values.join('\n')}
  esac
  case $words[2] in
    completion) compadd -- bash zsh; return ;;
${options.join('\n')}
  esac
  _describe option found
}
compdef _mailwright mailwright`;
}
