"""Whether a program that was started with an earlier conversation has read it yet.

Gemini CLI shows its input, takes a text and answers it, before it has read the conversation that it is to go on with,
and then puts that in the place of what it was told. Once it has read it, it notes that in the conversation's file.
OpenCode begins another conversation with a text that it is given on its first screen; that it has left it, is seen.
Reads other programs' files, writes none. Called for the screen's readings; blocks for milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from gshtui.programs.profiles.profile import Profile
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import search
from gshtui.programs.transcripts.transcript_readers import home_of

_LATE = "gemini"
"""The program that takes keys before it has read its conversation, and says in its files when it has."""


class ConversationLoading(msgspec.Struct):
    """One process that may have to read a conversation first.

    Args:
        profile: its program's; of most programs the answer is always no.
        pid: the process in its terminal.
        environ: of the program, which says where its files are.
    """

    profile: Profile
    pid: int
    cwd: str
    environ: Mapping[str, str]
    clock: Callable[[], float] = time.time
    _over: bool = False

    @property
    def possible(self) -> bool:
        """Whether it has to be asked at all."""
        return not self._over and self.pid > 0 and bool(self._program == _LATE or self._home)

    @property
    def _home(self) -> str:
        return self.profile.conversation.home

    @property
    def _program(self) -> str:
        return self.profile.hooks.kind or self.profile.name

    def is_loading(self, lines: Sequence[str] = ()) -> bool:
        """Whether it was started with a conversation that it has not read yet. `lines`: its screen, as captured.

        Where that cannot be told, as of a command line that names none, it has. It is not waited for longer than the
        program may take to start.
        """
        if not self.possible:
            return False
        began, id = self._start()
        late = self.clock() - began > self.profile.timing.start
        if self._home:
            self._over = late or not any(search(self._home, without_styles(line)) for line in lines)
            return not self._over
        from gshtui.programs.transcripts import gemini_transcript  # most agents are other programs

        try:
            self._over = late or gemini_transcript.has_loaded_since(
                self.cwd, id, began, self.environ, home_of(self.environ)
            )
        except OSError:
            self._over = True
        return not self._over

    def _start(self) -> tuple[float, str]:
        """When the process began (epoch seconds; 0: it goes on with nothing), and the id that it goes on with."""
        import psutil  # not needed for the first screen

        try:
            process = psutil.Process(self.pid)
            words, began = process.cmdline(), process.create_time()
        except psutil.Error:
            return 0.0, ""
        rules = self.profile.conversation
        if rules.resume and rules.resume[0] in words[:-1]:
            return began, words[words.index(rules.resume[0]) + 1]
        return (began, "") if rules.fork and rules.fork[0] in words else (0.0, "")
